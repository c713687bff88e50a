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

{{/* What contradicts itself. */}}
{{- define "kamino.check" -}}
{{- if not .Values.etcd.endpoints }}
{{- fail "etcd.endpoints is empty: name the members of an etcd cluster, as host:port" }}
{{- end }}
{{- if not (or .Values.tls.enabled .Values.insecure) }}
{{- fail "tls.enabled is false: any process that reaches a pod may then do everything; accept that by insecure=true, or set up tls" }}
{{- end }}
{{- if and .Values.tls.enabled .Values.insecure }}
{{- fail "tls.enabled and insecure contradict" }}
{{- end }}
{{- if and .Values.tls.enabled (not .Values.etcd.tls.secret) }}
{{- fail "etcd.tls.secret is empty: with tls.enabled etcd is spoken to by TLS, too" }}
{{- end }}
{{- if and .Values.tls.enabled (ne .Values.tls.source "secrets") (not .Values.tls.issuer.name) }}
{{- fail "tls.issuer.name is empty: it signs the certificates" }}
{{- end }}
{{- if ne (empty .Values.etcd.user) (empty .Values.etcd.passwordSecret) }}
{{- fail "etcd.user and etcd.passwordSecret go together" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled .Values.tls.enabled (not .Values.serviceMonitor.secret) }}
{{- fail "serviceMonitor.secret is empty: with tls.enabled metrics are for readers, by their certificates" }}
{{- end }}
{{- end -}}

{{- define "kamino.nodes" -}}
{{- add (include "kamino.chainLength" .) .Values.spares -}}
{{- end -}}

{{- define "kamino.nodeSecret" -}}
{{- .Values.tls.secrets.nodes | default (printf "%s-node" (include "kamino.name" .)) -}}
{{- end -}}

{{- define "kamino.managerSecret" -}}
{{- .Values.tls.secrets.managers | default (printf "%s-manager" (include "kamino.name" .)) -}}
{{- end -}}

{{/* Flags of both programs. of: the folder with the pod's own certificate. */}}
{{- define "kamino.trust" -}}
{{- if .context.Values.tls.enabled }}
- --tls_cert={{ .folder }}/tls.crt
- --tls_key={{ .folder }}/tls.key
- --tls_ca={{ .folder }}/ca.crt
{{- if .context.Values.tls.revoked }}
- --tls_crl_dir=/etc/kamino/revoked
{{- end }}
{{- if .context.Values.tls.roles }}
- --roles=/etc/kamino/roles/roles.toml
{{- end }}
{{- else }}
- --insecure
{{- end }}
{{- end -}}

{{/* What `kamino` needs to know inside of a pod. */}}
{{- define "kamino.clientEnv" -}}
{{- if not .Values.tls.enabled }}
- name: KAMINO_INSECURE
  value: "1"
{{- end }}
{{- end -}}

{{- define "kamino.trustMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.tls.enabled }}
- name: tls
  mountPath: /etc/kamino/tls
  readOnly: true
{{- if .Values.tls.revoked }}
- name: revoked
  mountPath: /etc/kamino/revoked
  readOnly: true
{{- end }}
{{- if .Values.tls.roles }}
- name: roles
  mountPath: /etc/kamino/roles
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{/* All but the one with certificates. */}}
{{- define "kamino.trustVolumes" -}}
- name: tmp
  emptyDir: {}
{{- if .Values.tls.enabled }}
{{- with .Values.tls.revoked }}
- name: revoked
  configMap:
    name: {{ . }}
{{- end }}
{{- if .Values.tls.roles }}
- name: roles
  configMap:
    name: {{ include "kamino.name" . }}-roles
{{- end }}
{{- end }}
{{- end -}}

{{/* A certificate of the pod's alone. of: its URI, and names of hosts. */}}
{{- define "kamino.csiVolume" -}}
- name: tls
  csi:
    driver: csi.cert-manager.io
    readOnly: true
    volumeAttributes:
      csi.cert-manager.io/issuer-name: {{ .context.Values.tls.issuer.name | quote }}
      csi.cert-manager.io/issuer-kind: {{ .context.Values.tls.issuer.kind | quote }}
      csi.cert-manager.io/issuer-group: {{ .context.Values.tls.issuer.group | quote }}
      csi.cert-manager.io/uri-sans: {{ .uri | quote }}
      csi.cert-manager.io/dns-names: {{ join "," .hosts | quote }}
      csi.cert-manager.io/key-usages: digital signature,server auth,client auth
      csi.cert-manager.io/duration: {{ .context.Values.tls.duration | quote }}
      csi.cert-manager.io/renew-before: {{ .context.Values.tls.renewBefore | quote }}
      csi.cert-manager.io/fs-group: "64000"
{{- end -}}

{{/* scheme of the HTTP listener */}}
{{- define "kamino.webScheme" -}}
{{- ternary "HTTPS" "HTTP" .Values.tls.enabled -}}
{{- end -}}

{{- define "kamino.probe" -}}
httpGet:
  path: {{ .path }}
  port: web
  scheme: {{ include "kamino.webScheme" .context }}
{{- end -}}

{{/* What all Certificates have in common. */}}
{{- define "kamino.certificate" -}}
duration: {{ .Values.tls.duration }}
renewBefore: {{ .Values.tls.renewBefore }}
privateKey:
  algorithm: ECDSA
  size: 256
  rotationPolicy: Always
usages:
  - digital signature
  - server auth
  - client auth
issuerRef:
  {{- toYaml .Values.tls.issuer | nindent 2 }}
{{- end -}}
