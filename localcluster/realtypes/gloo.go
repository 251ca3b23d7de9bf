package main

// Gloo's module cannot be had; these are the fields of its routes that scripts read, keep or write.

type glooRef struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

type glooDestination struct {
	Upstream *glooRef `json:"upstream"`
	Kube     *struct {
		Ref  glooRef `json:"ref"`
		Port uint32  `json:"port"`
	} `json:"kube"`
	Subset *struct {
		Values map[string]string `json:"values"`
	} `json:"subset"`
}

type glooHeaderManipulation struct {
	RequestHeadersToAdd     []glooHeaderToAdd `json:"requestHeadersToAdd"`
	RequestHeadersToRemove  []string          `json:"requestHeadersToRemove"`
	ResponseHeadersToAdd    []glooHeaderToAdd `json:"responseHeadersToAdd"`
	ResponseHeadersToRemove []string          `json:"responseHeadersToRemove"`
}

type glooHeaderToAdd struct {
	Header struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"header"`
	Append *bool `json:"append"`
}

type glooWeighted struct {
	Destination *glooDestination `json:"destination"`
	Weight      uint32           `json:"weight"`
	Options     *struct {
		HeaderManipulation *glooHeaderManipulation `json:"headerManipulation"`
	} `json:"options"`
}

type glooGroupSpec struct {
	Destinations []glooWeighted `json:"destinations"`
}

type glooValueMatcher struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Regex       bool   `json:"regex"`
	InvertMatch bool   `json:"invertMatch"`
}

type glooRoute struct {
	Name     string `json:"name"`
	Matchers []struct {
		Prefix          string             `json:"prefix"`
		Exact           string             `json:"exact"`
		Regex           string             `json:"regex"`
		Headers         []glooValueMatcher `json:"headers"`
		QueryParameters []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
			Regex bool   `json:"regex"`
		} `json:"queryParameters"`
		Methods       []string `json:"methods"`
		CaseSensitive *bool    `json:"caseSensitive"`
	} `json:"matchers"`
	RouteAction *struct {
		Single *glooDestination `json:"single"`
		Multi  *struct {
			Destinations []glooWeighted `json:"destinations"`
		} `json:"multi"`
		UpstreamGroup *glooRef `json:"upstreamGroup"`
		ClusterHeader string   `json:"clusterHeader"`
	} `json:"routeAction"`
	RedirectAction *struct {
		HostRedirect  string `json:"hostRedirect"`
		PathRedirect  string `json:"pathRedirect"`
		PrefixRewrite string `json:"prefixRewrite"`
		ResponseCode  string `json:"responseCode"`
		HTTPSRedirect bool   `json:"httpsRedirect"`
		StripQuery    bool   `json:"stripQuery"`
	} `json:"redirectAction"`
	DirectResponseAction *struct {
		Status uint32 `json:"status"`
		Body   string `json:"body"`
	} `json:"directResponseAction"`
	DelegateAction *struct {
		Ref *glooRef `json:"ref"`
	} `json:"delegateAction"`
	Options *struct {
		Timeout            string                  `json:"timeout"`
		PrefixRewrite      string                  `json:"prefixRewrite"`
		HostRewrite        string                  `json:"hostRewrite"`
		HeaderManipulation *glooHeaderManipulation `json:"headerManipulation"`
		Shadowing          *struct {
			Upstream   *glooRef `json:"upstream"`
			Percentage float32  `json:"percentage"`
		} `json:"shadowing"`
		Retries *struct {
			RetryOn       string `json:"retryOn"`
			NumRetries    uint32 `json:"numRetries"`
			PerTryTimeout string `json:"perTryTimeout"`
		} `json:"retries"`
	} `json:"options"`
}

type glooTableSpec struct {
	Routes []glooRoute `json:"routes"`
	Weight *int32      `json:"weight"`
}

type glooVirtualSpec struct {
	VirtualHost struct {
		Domains []string    `json:"domains"`
		Routes  []glooRoute `json:"routes"`
	} `json:"virtualHost"`
	DisplayName string `json:"displayName"`
}
