// An HTTP server whose answers say which version and which pod they come from; what else it does, its environment says:
//
//	VERSION   the word in the answers
//	CRASH     end with status 1 after this time ("0s": at once)
//	UNREADY   answer 503 to /ready for this long ("forever")
//
// /fetch?url=URL answers with the answer of URL, asked from the pod over a connection of its own.
//
// Asked to end it stops being ready, goes on answering for a second, and ends when no request is under way.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	lameDuck  = time.Second
	fetchTime = 3 * time.Second
)

func main() {
	version, pod := os.Getenv("VERSION"), os.Getenv("HOSTNAME")
	if crash, set := os.LookupEnv("CRASH"); set {
		after, err := time.ParseDuration(crash)
		if err != nil {
			panic(err)
		}
		time.AfterFunc(after, func() {
			fmt.Fprintln(os.Stderr, "this version crashes")
			os.Exit(1)
		})
	}
	var unready atomic.Bool
	if long, set := os.LookupEnv("UNREADY"); set {
		unready.Store(true)
		if after, err := time.ParseDuration(long); err == nil {
			time.AfterFunc(after, func() { unready.Store(false) })
		}
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%s %s\n", version, pod) })
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if unready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/fetch", fetch)
	server := &http.Server{Addr: ":8080"}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			panic(err)
		}
	}()
	<-stop
	unready.Store(true)
	time.Sleep(lameDuck)
	if err := server.Shutdown(context.Background()); err != nil {
		panic(err)
	}
}

func fetch(w http.ResponseWriter, r *http.Request) {
	client := http.Client{Timeout: fetchTime, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(r.URL.Query().Get("url"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	w.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(w, answer.Body); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
