// One binary that is kubelet or kube-proxy, by the name it is called with (or by its first argument).
//
// It is a module of its own because few need a real node, and the control plane should not be built anew for it. The
// versions are those of the control plane.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var components = map[string]func() *cobra.Command{
	"kubelet":    func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kube-proxy": proxy.NewProxyCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, known := components[name]; !known && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	command, known := components[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: kubelet | kube-proxy [flags]")
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
