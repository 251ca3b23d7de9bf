"""Our objects in GitOps tools: Argo CD's health and actions, and kstatus as Flux and Helm read it."""
