{{- define "tarn.name" -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- define "tarn.account" -}}
{{- .Values.serviceAccount.name | default (include "tarn.name" .) -}}
{{- end -}}

{{/* Cluster-wide objects of two releases must not be the same. */}}
{{- define "tarn.clusterName" -}}
{{- if eq .Release.Name "tarn" }}tarn{{ else }}tarn-{{ .Release.Namespace }}-{{ include "tarn.name" . }}{{ end -}}
{{- end -}}

{{- define "tarn.selector" -}}
app.kubernetes.io/name: tarn
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tarn.labels" -}}
{{ include "tarn.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "tarn.admissionVersion" -}}
{{- if .Values.admission.apiVersion -}}
{{ .Values.admission.apiVersion }}
{{- else if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
v1
{{- else -}}
v1beta1
{{- end -}}
{{- end -}}

{{/* "true": tarn chooses the GPUs of pods, not the kubelet. */}}
{{- define "tarn.exact" -}}
{{- eq (dig "kube" "devices" "counted" .Values.config) "exact" -}}
{{- end -}}

{{/* "true": tarn acts in namespaces with its label only. */}}
{{- define "tarn.managedOnly" -}}
{{- and .Values.guard.enabled (eq .Values.guard.namespaces "managed") -}}
{{- end -}}

{{/* The configuration, with what follows from other values: the port of the exporters, and the namespaces that tarn may act in. */}}
{{- define "tarn.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $kube := default dict (get $config "kube") -}}
{{- if .Values.exporter.enabled -}}
{{- $kube = merge $kube (dict "exporter" .Values.exporter.port) -}}
{{- end -}}
{{- if eq (include "tarn.managedOnly" .) "true" -}}
{{- $_ := set $kube "namespaces" "managed" -}}
{{- end -}}
{{- if $kube -}}
{{- $_ := set $config "kube" $kube -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* CEL: the keys of two maps whose values are not the same. */}}
{{- define "tarn.differences" -}}
{{- $new := index . 0 }}{{ $old := index . 1 -}}
{{ $new }}.filter(k, {{ $new }}[?k] != {{ $old }}[?k]) + {{ $old }}.filter(k, !(k in {{ $new }}))
{{- end -}}
