// One binary that is kube-apiserver, kube-controller-manager, kube-scheduler, kubectl or etcd, by the name it is
// called with (or by its first argument). One link instead of five keeps the build short on a small machine.
//
// Only the command that is asked for is built: Kubernetes' feature-gate and version registries are global to the process.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var components = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
	"etcd":                    newEtcdCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, known := components[name]; !known && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	command, known := components[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: kube-apiserver | kube-controller-manager | kube-scheduler | kubectl | etcd [flags]")
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
