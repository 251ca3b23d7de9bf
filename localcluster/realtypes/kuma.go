package main

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Kuma's module of this version cannot be had; these are its fields.

type kumaRef struct {
	Kind        string            `json:"kind"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Mesh        string            `json:"mesh"`
	Tags        map[string]string `json:"tags"`
	Labels      map[string]string `json:"labels"`
	ProxyTypes  []string          `json:"proxyTypes"`
	SectionName string            `json:"sectionName"`
}

type kumaBackend struct {
	kumaRef `json:",inline"`
	Weight  *uint   `json:"weight"`
	Port    *uint32 `json:"port"`
}

type kumaNameValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type kumaHeaderModifier struct {
	Set    []kumaNameValue `json:"set"`
	Add    []kumaNameValue `json:"add"`
	Remove []string        `json:"remove"`
}

type kumaTyped struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Value string `json:"value"`
}

type kumaPathRewrite struct {
	Type               string  `json:"type"`
	ReplaceFullPath    *string `json:"replaceFullPath"`
	ReplacePrefixMatch *string `json:"replacePrefixMatch"`
}

type kumaFilter struct {
	Type                   string              `json:"type"`
	RequestHeaderModifier  *kumaHeaderModifier `json:"requestHeaderModifier"`
	ResponseHeaderModifier *kumaHeaderModifier `json:"responseHeaderModifier"`
	URLRewrite             *struct {
		Hostname              *string          `json:"hostname"`
		Path                  *kumaPathRewrite `json:"path"`
		HostToBackendHostname bool             `json:"hostToBackendHostname"`
	} `json:"urlRewrite"`
	RequestRedirect *struct {
		Scheme     *string          `json:"scheme"`
		Hostname   *string          `json:"hostname"`
		Path       *kumaPathRewrite `json:"path"`
		Port       *int32           `json:"port"`
		StatusCode *int             `json:"statusCode"`
	} `json:"requestRedirect"`
	RequestMirror *struct {
		BackendRef kumaBackend `json:"backendRef"`
	} `json:"requestMirror"`
}

type kumaHTTPSpec struct {
	TargetRef *kumaRef `json:"targetRef"`
	To        []struct {
		Hostnames []string `json:"hostnames"`
		TargetRef kumaRef  `json:"targetRef"`
		Rules     []struct {
			Matches []struct {
				Path *struct {
					Type  string `json:"type"`
					Value string `json:"value"`
				} `json:"path"`
				Method      *string     `json:"method"`
				QueryParams []kumaTyped `json:"queryParams"`
				Headers     []kumaTyped `json:"headers"`
			} `json:"matches"`
			Default struct {
				Filters     []kumaFilter  `json:"filters"`
				BackendRefs []kumaBackend `json:"backendRefs"`
			} `json:"default"`
		} `json:"rules"`
	} `json:"to"`
}

type kumaTCPSpec struct {
	TargetRef *kumaRef `json:"targetRef"`
	To        []struct {
		TargetRef kumaRef `json:"targetRef"`
		Rules     []struct {
			Default struct {
				BackendRefs []kumaBackend `json:"backendRefs"`
			} `json:"default"`
		} `json:"rules"`
	} `json:"to"`
}

type kumaSelector struct {
	Match map[string]string `json:"match"`
}

type kumaSplit struct {
	Weight      uint32            `json:"weight"`
	Destination map[string]string `json:"destination"`
}

type kumaString struct {
	Prefix string `json:"prefix"`
	Exact  string `json:"exact"`
	Regex  string `json:"regex"`
}

type kumaHeaderChanges struct {
	Add []struct {
		Name   string `json:"name"`
		Value  string `json:"value"`
		Append bool   `json:"append"`
	} `json:"add"`
	Remove []struct {
		Name string `json:"name"`
	} `json:"remove"`
}

type kumaReplace struct {
	Pattern      string `json:"pattern"`
	Substitution string `json:"substitution"`
}

type kumaTrafficRoute struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Mesh            string            `json:"mesh"`
	Spec            struct {
		Sources      []kumaSelector `json:"sources"`
		Destinations []kumaSelector `json:"destinations"`
		Conf         struct {
			Split        []kumaSplit       `json:"split"`
			Destination  map[string]string `json:"destination"`
			LoadBalancer *struct {
				RoundRobin   *struct{} `json:"roundRobin"`
				Random       *struct{} `json:"random"`
				Maglev       *struct{} `json:"maglev"`
				LeastRequest *struct {
					ChoiceCount uint32 `json:"choiceCount"`
				} `json:"leastRequest"`
			} `json:"loadBalancer"`
			HTTP []struct {
				Match *struct {
					Method  *kumaString           `json:"method"`
					Path    *kumaString           `json:"path"`
					Headers map[string]kumaString `json:"headers"`
				} `json:"match"`
				Modify *struct {
					Path *struct {
						RewritePrefix string       `json:"rewritePrefix"`
						Regex         *kumaReplace `json:"regex"`
					} `json:"path"`
					Host *struct {
						Value    string       `json:"value"`
						FromPath *kumaReplace `json:"fromPath"`
					} `json:"host"`
					RequestHeaders  *kumaHeaderChanges `json:"requestHeaders"`
					ResponseHeaders *kumaHeaderChanges `json:"responseHeaders"`
				} `json:"modify"`
				Split       []kumaSplit       `json:"split"`
				Destination map[string]string `json:"destination"`
			} `json:"http"`
		} `json:"conf"`
	} `json:"spec"`
}
