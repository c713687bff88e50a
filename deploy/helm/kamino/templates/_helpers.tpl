{{- define "kamino.name" -}}
{{- if contains "kamino" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-kamino" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kamino.clusterId" -}}
{{- .Values.clusterId | default (printf "%s.%s" .Release.Namespace .Release.Name | trunc 48) -}}
{{- end -}}

{{/* How many nodes the chain has. */}}
{{- define "kamino.chainLength" -}}
{{- add .Values.f (ternary 2 1 (eq .Values.chainMode "kamino")) -}}
{{- end -}}

{{- define "kamino.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "kamino.selector" -}}
app.kubernetes.io/name: kamino
app.kubernetes.io/instance: {{ .context.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "kamino.labels" -}}
{{ include "kamino.selector" . }}
app.kubernetes.io/version: {{ .context.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .context.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .context.Chart.Name .context.Chart.Version }}
{{- end -}}

{{/* Where the pod's own processes are reached by others. */}}
{{- define "kamino.podEnv" -}}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end -}}

{{/* Two pods of one component on one machine. */}}
{{- define "kamino.affinity" -}}
{{- $term := dict "labelSelector" (dict "matchLabels" (include "kamino.selector" . | fromYaml)) "topologyKey" "kubernetes.io/hostname" -}}
{{- $affinity := deepCopy .values.affinity -}}
{{- if eq .values.antiAffinity "required" -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- else if eq .values.antiAffinity "preferred" -}}
{{- $_ := set $affinity "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 100 "podAffinityTerm" $term))) -}}
{{- end -}}
{{- with $affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "kamino.podSecurity" -}}
runAsNonRoot: true
runAsUser: 64000
runAsGroup: 64000
fsGroup: 64000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* of: what RDMA takes, if anything. */}}
{{- define "kamino.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
  {{- with . }}
  add: {{ toJson . }}
  {{- end }}
{{- end -}}
