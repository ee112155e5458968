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

{{/* The configuration, with the port of the exporters that the chart starts. */}}
{{- define "tarn.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.exporter.enabled -}}
{{- $_ := set $config "kube" (merge (default dict (get $config "kube")) (dict "exporter" .Values.exporter.port)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
