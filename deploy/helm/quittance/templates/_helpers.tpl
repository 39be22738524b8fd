{{- define "quittance.labels" -}}
app.kubernetes.io/name: quittance
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "quittance.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ with .tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{/* A role: pods with names and storage of their own, since each has look-ups and a number of its own. */}}
{{- define "quittance.role" -}}
{{- $values := get .root.Values .role -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .root.Release.Name }}-{{ .role }}
  labels: {{- include "quittance.labels" . | nindent 4 }}
spec:
  serviceName: {{ .root.Release.Name }}-{{ .role }}
  replicas: {{ if .root.Values.stopped }}0{{ else }}{{ $values.replicas | default 1 }}{{ end }}
  podManagementPolicy: {{ eq .role "signer" | ternary "OrderedReady" "Parallel" }}
  # Never two versions on one event log: pods are replaced when all of the earlier version are gone (docs/install.md).
  updateStrategy: { type: OnDelete }
  # A journal that is lost cannot be told from one that was cut.
  persistentVolumeClaimRetentionPolicy: { whenDeleted: Retain, whenScaled: Retain }
  selector:
    matchLabels: {{- include "quittance.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "quittance.labels" . | nindent 8 }}
      annotations:
        checksum/settings: {{ .root.Values.settings | toJson | sha256sum }}
    spec:
      serviceAccountName: {{ .root.Release.Name }}-{{ .role }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: { type: RuntimeDefault }
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      {{- if ne .role "signer" }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "quittance.labels" . | nindent 14 }}
      {{- end }}
      containers:
        - name: quittance
          image: {{ include "quittance.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          ports:
            {{- if eq .role "api" }}
            - { name: http, containerPort: 8080 }
            {{- end }}
            - { name: ops, containerPort: 9464 }
          envFrom:
            - configMapRef: { name: {{ .root.Release.Name }}-settings }
            - secretRef: { name: {{ .root.Values.secrets.common }} }
            {{- if ne .role "signer" }}
            - secretRef: { name: {{ .root.Values.secrets.watchOnly }} }
            {{- end }}
            {{- with get .root.Values.secrets .role }}
            - secretRef: { name: {{ . }} }
            {{- end }}
          env:
            - { name: ROLES, value: {{ .role }} }
            - name: POD_INDEX
              valueFrom: { fieldRef: { fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']" } }
            # Different in every pod: the first digit is that of the role.
            - { name: NODE_NUMBER, value: "{{ .digit }}$(POD_INDEX)" }
            {{- if and .root.Values.snapshotsClaim (ne .role "signer") }}
            - { name: LOOK_UP_SNAPSHOT_DIR, value: /var/lib/quittance-snapshots }
            {{- end }}
            {{- if eq .role "signer" }}
            - { name: WALLET_KEYSTORE, value: /run/secrets/wallet/keystore }
            - { name: WALLET_KEYSTORE_PASSPHRASE_FILE, value: /run/secrets/wallet/passphrase }
            {{- else if .root.Values.secrets.canaryMerchant }}
            - { name: CANARY_MERCHANT_FILE, value: /run/secrets/canary-merchant/merchant.json }
            {{- if eq .role "worker" }}
            - { name: CANARY_KEYSTORE, value: /run/secrets/canary/keystore }
            - { name: CANARY_KEYSTORE_PASSPHRASE_FILE, value: /run/secrets/canary/passphrase }
            {{- end }}
            {{- end }}
          startupProbe:
            httpGet: { path: /startupz, port: ops }
            periodSeconds: 5
            failureThreshold: 360
          livenessProbe:
            httpGet: { path: /healthz, port: ops }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: ops }
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
          {{- with $values.resources }}
          resources: {{- toYaml . | nindent 12 }}
          {{- end }}
          volumeMounts:
            - { name: state, mountPath: /var/lib/quittance }
            - { name: tmp, mountPath: /tmp }
            {{- if .root.Values.storesAuthority }}
            - { name: trust, mountPath: /run/trust, readOnly: true }
            {{- end }}
            {{- if and .root.Values.snapshotsClaim (ne .role "signer") }}
            - { name: snapshots, mountPath: /var/lib/quittance-snapshots }
            {{- end }}
            {{- if eq .role "signer" }}
            - { name: wallet, mountPath: /run/secrets/wallet, readOnly: true }
            {{- else if .root.Values.secrets.canaryMerchant }}
            - { name: canary-merchant, mountPath: /run/secrets/canary-merchant, readOnly: true }
            {{- if eq .role "worker" }}
            - { name: canary, mountPath: /run/secrets/canary, readOnly: true }
            {{- end }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: { medium: Memory, sizeLimit: 64Mi }
        {{- with .root.Values.storesAuthority }}
        - name: trust
          secret: { secretName: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
        {{- end }}
        {{- if and .root.Values.snapshotsClaim (ne .role "signer") }}
        - name: snapshots
          persistentVolumeClaim: { claimName: {{ .root.Values.snapshotsClaim }} }
        {{- end }}
        {{- if eq .role "signer" }}
        - name: wallet
          secret: { secretName: {{ .root.Values.secrets.wallet }}, defaultMode: 288 }
        {{- else if .root.Values.secrets.canaryMerchant }}
        - name: canary-merchant
          secret: { secretName: {{ .root.Values.secrets.canaryMerchant }}, defaultMode: 288 }
        {{- if eq .role "worker" }}
        - name: canary
          secret: { secretName: {{ .root.Values.secrets.canary }}, defaultMode: 288 }
        {{- end }}
        {{- end }}
  volumeClaimTemplates:
    - metadata:
        name: state
      spec:
        accessModes: [ReadWriteOncePod]
        {{- with .root.Values.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources: { requests: { storage: {{ $values.storage }} } }
{{- end }}
