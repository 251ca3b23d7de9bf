package main

import "k8s.io/apimachinery/pkg/util/intstr"

// F5's module cannot be had; these are its fields. Only pools of a list and of a TransportServer have weights: a
// default pool has none.

type f5Monitor struct {
	Type       string `json:"type"`
	Send       string `json:"send"`
	Recv       string `json:"recv"`
	Interval   int    `json:"interval"`
	Timeout    int    `json:"timeout"`
	TargetPort int32  `json:"targetPort"`
	Name       string `json:"name"`
	Reference  string `json:"reference"`
}

type f5Backend struct {
	Service          string `json:"service"`
	ServiceNamespace string `json:"serviceNamespace"`
	Weight           *int32 `json:"weight"`
}

type f5Pool struct {
	Name                string             `json:"name"`
	Path                string             `json:"path"`
	Service             string             `json:"service"`
	ServicePort         intstr.IntOrString `json:"servicePort"`
	ServiceNamespace    string             `json:"serviceNamespace"`
	Weight              *int32             `json:"weight"`
	AlternateBackends   []f5Backend        `json:"alternateBackends"`
	Monitor             *f5Monitor         `json:"monitor"`
	Monitors            []f5Monitor        `json:"monitors"`
	Rewrite             string             `json:"rewrite"`
	HostRewrite         string             `json:"hostRewrite"`
	LoadBalancingMethod string             `json:"loadBalancingMethod"`
}

type f5DefaultPool struct {
	Name                string             `json:"name"`
	Service             string             `json:"service"`
	ServicePort         intstr.IntOrString `json:"servicePort"`
	ServiceNamespace    string             `json:"serviceNamespace"`
	Monitors            []f5Monitor        `json:"monitors"`
	LoadBalancingMethod string             `json:"loadBalancingMethod"`
	Reference           string             `json:"reference"`
}

type f5VirtualSpec struct {
	Host                 string         `json:"host"`
	HostAliases          []string       `json:"hostAliases"`
	HostGroup            string         `json:"hostGroup"`
	VirtualServerAddress string         `json:"virtualServerAddress"`
	VirtualServerName    string         `json:"virtualServerName"`
	IPAMLabel            string         `json:"ipamLabel"`
	TLSProfileName       string         `json:"tlsProfileName"`
	HTTPTraffic          string         `json:"httpTraffic"`
	DefaultPool          *f5DefaultPool `json:"defaultPool"`
	Pools                []f5Pool       `json:"pools"`
}

type f5TransportSpec struct {
	VirtualServerAddress string `json:"virtualServerAddress"`
	VirtualServerPort    int32  `json:"virtualServerPort"`
	VirtualServerName    string `json:"virtualServerName"`
	Host                 string `json:"host"`
	Mode                 string `json:"mode"`
	SNAT                 string `json:"snat"`
	Type                 string `json:"type"`
	IPAMLabel            string `json:"ipamLabel"`
	Pool                 f5Pool `json:"pool"`
}
