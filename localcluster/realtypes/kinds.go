package main

import (
	apisix "github.com/apache/apisix-ingress-controller/pkg/kube/apisix/apis/config/v2"
	emissaryold "github.com/emissary-ingress/emissary/v3/pkg/api/getambassador.io/v2"
	emissary "github.com/emissary-ingress/emissary/v3/pkg/api/getambassador.io/v3alpha1"
	nginx "github.com/nginxinc/kubernetes-ingress/pkg/apis/configuration/v1"
	openshift "github.com/openshift/api/route/v1"
	contour "github.com/projectcontour/contour/apis/projectcontour/v1"
	smi "github.com/servicemeshinterface/smi-sdk-go/pkg/apis/split/v1alpha2"
	zalando "github.com/szuecs/routegroup-client/apis/zalando.org/v1"
	traefik "github.com/traefik/traefik/v3/pkg/provider/kubernetes/crd/traefikio/v1alpha1"
	istio "istio.io/api/networking/v1"
	networking "k8s.io/api/networking/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	gatewayalpha "sigs.k8s.io/gateway-api/apis/v1alpha2"
)

const (
	fromApisix   = "module github.com/apache/apisix-ingress-controller"
	fromConsul   = "fields of hashicorp/consul-k8s, control-plane/api/v1alpha1"
	fromContour  = "module github.com/projectcontour/contour"
	fromEmissary = "module github.com/emissary-ingress/emissary/v3"
	fromEnvoy    = "module github.com/envoyproxy/go-control-plane/envoy; fields of cilium/cilium, pkg/k8s/apis/cilium.io/v2/cec_types.go"
	fromF5       = "fields of F5Networks/k8s-bigip-ctlr, config/apis/cis/v1/types.go and its CRDs"
	fromGateway  = "module sigs.k8s.io/gateway-api"
	fromGloo     = "fields of solo-io/gloo, install/helm/gloo/crds"
	fromIstio    = "module istio.io/api"
	fromK8s      = "module k8s.io/api"
	fromKuma     = "fields of kumahq/kuma, pkg/plugins/policies and api/mesh/v1alpha1"
	fromLinkerd  = "module sigs.k8s.io/gateway-api, from which linkerd/linkerd2 derives charts/linkerd-crds/templates/policy/httproute.yaml"
	fromNginx    = "module github.com/nginxinc/kubernetes-ingress"
	fromRoute    = "module github.com/openshift/api"
	fromSMI      = "module github.com/servicemeshinterface/smi-sdk-go"
	fromTraefik  = "module github.com/traefik/traefik/v3"
	fromZalando  = "module github.com/szuecs/routegroup-client"
)

// kinds holds every kind by group and name.
var kinds = map[string]kind{
	"apisix.apache.org/ApisixRoute": {fromApisix, served(strictly[apisix.ApisixRoute], "v2")},
	"cilium.io/CiliumEnvoyConfig":   {fromEnvoy, served(strictly[bare[ciliumSpec]], "v2")},
	"cis.f5.com/TransportServer":    {fromF5, served(strictly[bare[f5TransportSpec]], "v1")},
	"cis.f5.com/VirtualServer":      {fromF5, served(strictly[bare[f5VirtualSpec]], "v1")},
	"consul.hashicorp.com/ServiceRouter": {
		fromConsul, served(strictly[bare[consulRouterSpec]], "v1alpha1")},
	"consul.hashicorp.com/ServiceSplitter": {
		fromConsul, served(strictly[bare[consulSplitterSpec]], "v1alpha1")},
	"gateway.networking.k8s.io/GRPCRoute": {fromGateway, served(strictly[gateway.GRPCRoute], "v1")},
	"gateway.networking.k8s.io/HTTPRoute": {
		fromGateway, served(strictly[gateway.HTTPRoute], "v1", "v1beta1")},
	"gateway.networking.k8s.io/TCPRoute": {
		fromGateway, served(strictly[gatewayalpha.TCPRoute], "v1", "v1alpha2")},
	"gateway.networking.k8s.io/TLSRoute": {
		fromGateway, served(strictly[gatewayalpha.TLSRoute], "v1", "v1alpha2", "v1alpha3")},
	"gateway.networking.k8s.io/UDPRoute": {
		fromGateway, served(strictly[gatewayalpha.UDPRoute], "v1", "v1alpha2")},
	"gateway.solo.io/RouteTable":     {fromGloo, served(strictly[bare[glooTableSpec]], "v1")},
	"gateway.solo.io/VirtualService": {fromGloo, served(strictly[bare[glooVirtualSpec]], "v1")},
	"getambassador.io/Mapping": {fromEmissary, map[string]decoder{
		"v2": strictly[emissaryold.Mapping], "v3alpha1": strictly[emissary.Mapping]}},
	"gloo.solo.io/UpstreamGroup":       {fromGloo, served(strictly[bare[glooGroupSpec]], "v1")},
	"k8s.nginx.org/VirtualServer":      {fromNginx, served(strictly[nginx.VirtualServer], "v1")},
	"k8s.nginx.org/VirtualServerRoute": {fromNginx, served(strictly[nginx.VirtualServerRoute], "v1")},
	"kuma.io/MeshHTTPRoute":            {fromKuma, served(strictly[bare[kumaHTTPSpec]], "v1alpha1")},
	"kuma.io/MeshTCPRoute":             {fromKuma, served(strictly[bare[kumaTCPSpec]], "v1alpha1")},
	"kuma.io/TrafficRoute":             {fromKuma, served(strictly[kumaTrafficRoute], "v1alpha1")},
	"networking.istio.io/DestinationRule": {
		fromIstio, served(message[*istio.DestinationRule], "v1", "v1beta1", "v1alpha3")},
	"networking.istio.io/VirtualService": {
		fromIstio, served(message[*istio.VirtualService], "v1", "v1beta1", "v1alpha3")},
	"networking.k8s.io/Ingress": {fromK8s, served(strictly[networking.Ingress], "v1")},
	"policy.linkerd.io/HTTPRoute": {
		fromLinkerd, served(strictly[gateway.HTTPRoute], "v1beta2", "v1beta3")},
	"projectcontour.io/HTTPProxy": {fromContour, served(strictly[contour.HTTPProxy], "v1")},
	"route.openshift.io/Route":    {fromRoute, served(strictly[openshift.Route], "v1")},
	"split.smi-spec.io/TrafficSplit": {
		fromSMI, served(strictly[smi.TrafficSplit], "v1alpha2", "v1alpha4")},
	"traefik.io/IngressRoute":    {fromTraefik, served(strictly[traefik.IngressRoute], "v1alpha1")},
	"traefik.io/IngressRouteTCP": {fromTraefik, served(strictly[traefik.IngressRouteTCP], "v1alpha1")},
	"traefik.io/IngressRouteUDP": {fromTraefik, served(strictly[traefik.IngressRouteUDP], "v1alpha1")},
	"traefik.io/TraefikService":  {fromTraefik, served(strictly[traefik.TraefikService], "v1alpha1")},
	"zalando.org/RouteGroup":     {fromZalando, served(strictly[zalando.RouteGroup], "v1")},
}
