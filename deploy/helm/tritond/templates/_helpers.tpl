{{- define "tritond.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tritond.selector" -}}
app.kubernetes.io/name: tritond
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tritond.labels" -}}
{{ include "tritond.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* An image, by its target in the Dockerfile: (list $ "service") */}}
{{- define "tritond.image" -}}
{{- $ := index . 0 -}}
{{- $registry := required "images.registry is required: where your images are, such as ghcr.io/example" $.Values.images.registry -}}
{{- $digest := get $.Values.images.digests (index . 1) -}}
{{- if $digest }}{{ $registry }}/tritond-{{ index . 1 }}@{{ $digest }}
{{- else }}{{ $registry }}/tritond-{{ index . 1 }}:{{ $.Values.images.tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "tritond.drainSeconds" -}}{{ add (int .Values.longestJobSeconds) 15 }}{{- end }}

{{/* What every pod of ours shares; (list $ user) */}}
{{- define "tritond.pod" -}}
{{- $ := index . 0 -}}
{{- $user := index . 1 -}}
automountServiceAccountToken: false
# a Service called tritond would set TRITOND_PORT in every pod, which is a setting
enableServiceLinks: false
{{- with $.Values.images.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ $user }}
  runAsGroup: {{ $user }}
  fsGroup: {{ $user }}
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "tritond.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Prefer machines and zones without such pods; of a selector's labels */}}
{{- define "tritond.spread" -}}
topologySpreadConstraints:
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}

{{/* The environment that services and workers share. */}}
{{- define "tritond.environment" -}}
{{- if .Values.valkey.enabled }}
- name: VALKEY_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ required "valkey.password.secret is required: a Secret with the password" .Values.valkey.password.secret }}, key: {{ .Values.valkey.password.key }}}}
- name: TRITOND_REDIS_URL
  value: redis://:$(VALKEY_PASSWORD)@{{ include "tritond.fullname" . }}-valkey:6379/0
{{- else }}
- name: TRITOND_REDIS_URL
  valueFrom: {secretKeyRef: {name: {{ required "store.url.secret is required: a Secret with the URL of your Valkey or Redis, or set valkey.enabled" .Values.store.url.secret }}, key: {{ .Values.store.url.key }}}}
{{- end }}
{{- if .Values.store.cacheUrl.secret }}
- name: TRITOND_CACHE_URL
  valueFrom: {secretKeyRef: {name: {{ .Values.store.cacheUrl.secret }}, key: {{ .Values.store.cacheUrl.key }}}}
{{- end }}
{{- with .Values.otel.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . }}
{{- end }}
{{- with .Values.bucket.url }}
- name: TRITOND_BLOBS_URL
  value: {{ . }}
{{- end }}
{{- if .Values.bucket.url }}
{{- range $name, $value := .Values.bucket.environment }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tritond.settings" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ if and (kindIs "float64" $value) (eq $value (floor $value)) }}{{ $value | int64 | toString | quote }}{{ else }}{{ $value | quote }}{{ end }}
{{- end }}
{{- end }}

{{/* The labels of our series in Prometheus, as the ServiceMonitor sets them. */}}
{{- define "tritond.series" -}}
namespace="{{ .Release.Namespace }}",job="{{ include "tritond.fullname" . }}"
{{- end }}

{{/* The lanes of jobs that need no GPU, and those that need this one, as regular expressions. */}}
{{- define "tritond.cpuLanes" -}}
(compile|inspect|derive|launch:interpreter):.*|programs:[0-9a-f]+|sweeps|proofs
{{- end }}
{{- define "tritond.gpuLanes" -}}
launch:{{ .target }} {{ .model }}(:torch)?|programs:[0-9a-f]+:{{ .target }} {{ .model }}
{{- end }}

{{- define "tritond.workerName" -}}
{{ include "tritond.fullname" (index . 0) }}-worker-{{ index . 1 }}
{{- end }}

{{/* Refuse what no schema can: values that contradict each other. */}}
{{- define "tritond.check" -}}
{{- if not .Values.adminKey.secret }}{{ fail "adminKey.secret is required: a Secret with a long random string, the first API key" }}{{ end }}
{{- if and .Values.bucket.secret (not .Values.bucket.url) }}{{ fail "bucket.secret is set, but bucket.url is not: set both or neither" }}{{ end }}
{{- if and .Values.bucket.secret (eq .Values.bucket.secret .Values.adminKey.secret) }}{{ fail "bucket.secret is adminKey.secret: workers get all of the bucket's Secret, so keep the admin key in another" }}{{ end }}
{{- if and .Values.keda.enabled (not .Values.keda.prometheusUrl) }}{{ fail "keda.prometheusUrl is required with keda.enabled, such as http://prometheus-operated.monitoring:9090" }}{{ end }}
{{- if gt (int .Values.service.replicas.min) (int .Values.service.replicas.max) }}{{ fail "service.replicas.min is above service.replicas.max" }}{{ end }}
{{- $cpuClasses := dict }}
{{- $withTorch := "" }}
{{- range $name, $worker := .Values.workers }}
{{- if not $worker.gpu }}{{ $_ := set $cpuClasses $name $worker }}{{ end }}
{{- if $worker.torch }}{{ $withTorch = $name }}{{ end }}
{{- $min := int $worker.replicas.min }}
{{- if gt $min (int $worker.replicas.max) }}{{ fail (printf "workers.%s.replicas.min is above replicas.max" $name) }}{{ end }}
{{- if and (eq $min 0) (not $.Values.keda.enabled) }}{{ fail (printf "workers.%s.replicas.min is 0, and nothing would ever start a worker: set keda.enabled, or 1 or more" $name) }}{{ end }}
{{- end }}
{{- if not $cpuClasses }}{{ fail "workers has no class without gpu: nothing would start a worker for a compilation; keep workers.cpu" }}{{ end }}
{{- range $name, $worker := $cpuClasses }}
{{- if and $withTorch (not $worker.torch) }}{{ fail (printf "workers.%s.torch must be true, as workers.%s.torch is: work in torch for the CPU device would wait for workers that cannot do it" $name $withTorch) }}{{ end }}
{{- end }}
{{- if .Values.network.policies }}
{{- if and (not .Values.valkey.enabled) (not .Values.network.store.to) }}{{ fail "network.store.to is required: where your store is, such as [{ipBlock: {cidr: 10.0.0.5/32}}]; an empty list would allow every address" }}{{ end }}
{{- if and .Values.bucket.url (not .Values.network.bucket.to) }}{{ fail "network.bucket.to is required with bucket.url: where your bucket is, such as [{ipBlock: {cidr: 10.0.8.0/24}}] of a private endpoint; an empty list would allow every address" }}{{ end }}
{{- if and .Values.otel.endpoint (not .Values.network.otel.to) }}{{ fail "network.otel.to is required with otel.endpoint: where your collector is, such as [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]; an empty list would allow every address" }}{{ end }}
{{- range $of := list "store" "bucket" "otel" }}
{{- range (get $.Values.network $of).to }}
{{- if and .ipBlock (hasSuffix "/0" .ipBlock.cidr) }}{{ fail (printf "network.%s.to allows every address (%s): workers run strangers' kernels, so name the addresses of the %s alone" $of .ipBlock.cidr $of) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
