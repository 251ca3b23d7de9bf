package main

import (
	// Registered, so that a resource is decoded as the Envoy type that it names.
	_ "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
)

// Cilium's own part is three lists; what counts is inside the resources, which are Envoy's.

type ciliumSpec struct {
	Services []struct {
		Name      string   `json:"name"`
		Namespace string   `json:"namespace"`
		Listener  string   `json:"listener"`
		Ports     []uint16 `json:"ports"`
	} `json:"services"`
	BackendServices []struct {
		Name      string   `json:"name"`
		Namespace string   `json:"namespace"`
		Ports     []string `json:"number"`
	} `json:"backendServices"`
	Resources []envoyResource `json:"resources"`
}

type envoyResource struct{}

func (*envoyResource) UnmarshalJSON(data []byte) error {
	return protojson.Unmarshal(data, &anypb.Any{})
}
