package main

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Consul's module cannot be verified by the public checksum database, so its fields are named here.

type consulHeaders struct {
	Add    map[string]string `json:"add"`
	Set    map[string]string `json:"set"`
	Remove []string          `json:"remove"`
}

type consulSplitterSpec struct {
	Splits []struct {
		Weight          float32        `json:"weight"`
		Service         string         `json:"service"`
		ServiceSubset   string         `json:"serviceSubset"`
		Namespace       string         `json:"namespace"`
		Partition       string         `json:"partition"`
		RequestHeaders  *consulHeaders `json:"requestHeaders"`
		ResponseHeaders *consulHeaders `json:"responseHeaders"`
	} `json:"splits"`
}

type consulRouterSpec struct {
	Routes []struct {
		Match *struct {
			HTTP *consulHTTPMatch `json:"http"`
		} `json:"match"`
		Destination *consulDestination `json:"destination"`
	} `json:"routes"`
}

type consulHTTPMatch struct {
	PathExact       string         `json:"pathExact"`
	PathPrefix      string         `json:"pathPrefix"`
	PathRegex       string         `json:"pathRegex"`
	CaseInsensitive bool           `json:"caseInsensitive"`
	Header          []consulHeader `json:"header"`
	QueryParam      []struct {
		Name    string `json:"name"`
		Present bool   `json:"present"`
		Exact   string `json:"exact"`
		Regex   string `json:"regex"`
	} `json:"queryParam"`
	Methods []string `json:"methods"`
}

type consulHeader struct {
	Name    string `json:"name"`
	Present bool   `json:"present"`
	Exact   string `json:"exact"`
	Prefix  string `json:"prefix"`
	Suffix  string `json:"suffix"`
	Regex   string `json:"regex"`
	Invert  bool   `json:"invert"`
}

type consulDestination struct {
	Service               string          `json:"service"`
	ServiceSubset         string          `json:"serviceSubset"`
	Namespace             string          `json:"namespace"`
	Partition             string          `json:"partition"`
	PrefixRewrite         string          `json:"prefixRewrite"`
	IdleTimeout           metav1.Duration `json:"idleTimeout"`
	RequestTimeout        metav1.Duration `json:"requestTimeout"`
	NumRetries            uint32          `json:"numRetries"`
	RetryOn               []string        `json:"retryOn"`
	RetryOnConnectFailure bool            `json:"retryOnConnectFailure"`
	RetryOnStatusCodes    []uint32        `json:"retryOnStatusCodes"`
	RequestHeaders        *consulHeaders  `json:"requestHeaders"`
	ResponseHeaders       *consulHeaders  `json:"responseHeaders"`
}
