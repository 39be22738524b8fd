import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkProductionConfig } from '../../../src/composition/production.ts';
import { needlessKeys } from '../../../src/settings/sealing-keys.ts';
import { STORE_USERS } from '../../../src/composition/commands/store-access.ts';
import { readConfig, unknownSettings } from '../../../src/config.ts';
import { REPOSITORY } from '../../support/repository.ts';

const text = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

interface Service {
  readonly image: string;
  readonly build?: unknown;
  readonly user?: string;
  readonly mem_limit?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly privileged?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly command?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
}

const read = (path: string): Compose => parse(text(path), { merge: true }) as Compose;
const compose = read('docker-compose.yml');
const secure = read('ops/docker/secure.yml');
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image === 'quittance:local');
const everyService = [...services, ...Object.entries(secure.services)];

/** Images that hold one program and nothing that could ask it how it is. */
const WITHOUT_SHELL = ['otel-collector', 'jaeger'];
const PINNED = /^[a-z0-9./-]+:v?\d+\.\d+\.\d+(-[a-z0-9.]+)?(@sha256:[0-9a-f]{64})?$/;

describe('docker-compose.yml', () => {
  it('holds the whole distributed profile', () => {
    expect(services.map(([name]) => name).sort()).toEqual(
      [
        ...['kurrentdb-1', 'kurrentdb-2', 'kurrentdb-3', 'redis'],
        ...['api-1', 'api-2', 'worker-1', 'worker-2', 'signer', 'proxy'],
        ...['prometheus', 'grafana', 'otel-collector', 'jaeger'],
      ].sort(),
    );
  });

  it('names every foreign image by its exact version', () => {
    const foreign = everyService.flatMap(([, { image }]) =>
      image === undefined || image === 'quittance:local' ? [] : [image],
    );
    expect(foreign.filter((image) => !PINNED.test(image))).toEqual([]);
    expect(foreign.length).toBeGreaterThan(8);
  });

  it('publishes ports on 127.0.0.1 only, and none of a store, a worker or the signer', () => {
    const published = everyService.flatMap(([name, { ports = [] }]) => ports.map((port) => ({ name, port })));
    expect(published.filter(({ port }) => !/^127\.0\.0\.1:\d+:\d+$/.test(port))).toEqual([]);
    expect(published.map(({ name }) => name).sort()).toEqual(['grafana', 'jaeger', 'prometheus', 'proxy']);
    const internal = Object.keys(compose.networks).filter((name) => compose.networks[name]?.internal);
    expect(internal).toContain('stores');
    for (const { name } of published)
      expect(compose.services[name]!.networks!.some((network) => !internal.includes(network))).toBe(true);
  });

  it.each(services)('%s runs without REPOSITORY, without capabilities and on a read-only root', (name, service) => {
    expect(service.read_only).toBe(true);
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.cap_add ?? []).toEqual(name === 'proxy' ? ['NET_BIND_SERVICE'] : []);
    expect(service.security_opt).toContain('no-new-privileges:true');
    expect(service.privileged).toBeUndefined();
    expect(service.user).toMatch(/^(node|[1-9]\d*:\d+)$/);
  });

  it('limits the memory of every container, and gives none of the keys in certificates to another user than its own', () => {
    expect(services.filter(([, service]) => !/^\d+[mg]$/.test(service.mem_limit ?? '')).map(([name]) => name)).toEqual(
      [],
    );
    for (const [user, path] of [
      [compose.services['kurrentdb-1']!.user, '/certificates'],
      [compose.services['redis']!.user, '/redis-certificates'],
    ])
      expect(secure.services['certificates']!.command!.join('\n')).toContain(`chown -R ${user} ${path}\n`);
  });

  it('has a health check for every container that supports one', () => {
    const imageHasOne = (name: string): boolean => ours.some(([own]) => own === name);
    expect(
      services.filter(([name, { healthcheck }]) => !healthcheck && !imageHasOne(name)).map(([name]) => name),
    ).toEqual(WITHOUT_SHELL);
    expect(text('Dockerfile')).toContain('HEALTHCHECK');
  });

  it.each(['docker-compose.yml', 'ops/docker/secure.yml'])(
    '%s mounts files that exist and volumes that are declared',
    (path) => {
      const { services: mounting, volumes } = path === 'docker-compose.yml' ? compose : secure;
      const used = Object.values(mounting).flatMap((service) => service.volumes ?? []);
      const files = used.filter((mount) => mount.startsWith('.'));
      for (const mount of files) {
        expect(existsSync(join(REPOSITORY, mount.split(':')[0]!)), mount).toBe(true);
        expect(mount).toMatch(/:ro$/);
      }
      const named = [...new Set(used.filter((mount) => !mount.startsWith('.')).map((mount) => mount.split(':')[0]!))];
      expect(named.sort()).toEqual(Object.keys(volumes).sort());
    },
  );

  it('depends on, scrapes and proxies only services that it has', () => {
    const known = new Set(services.map(([name]) => name));
    for (const [, { depends_on: dependencies = [] }] of services)
      for (const name of Array.isArray(dependencies) ? (dependencies as string[]) : Object.keys(dependencies))
        expect(known).toContain(name);
    const scraped = [...text('ops/docker/prometheus.yml').matchAll(/'([a-z0-9-]+):\d+'/g)].map((match) => match[1]!);
    expect(ours.every(([name]) => scraped.includes(name))).toBe(true);
    const proxied = [...text('ops/docker/Caddyfile').matchAll(/([a-z]+-\d):8080/g)].map((match) => match[1]!);
    expect(proxied).toEqual(['api-1', 'api-2']);
    expect([...scraped, ...proxied].filter((name) => !known.has(name))).toEqual([]);
  });
});

describe("the service's containers", () => {
  const isUnknown = (key: string): boolean => unknownSettings({ [key]: '' }).length > 0;

  it('get only settings that the service reads', () => {
    const given = [...ours, ...Object.entries(secure.services).filter(([name]) => ours.some(([own]) => own === name))];
    const unknown = given.flatMap(([name, { environment = {} }]) =>
      Object.keys(environment).flatMap((key) => (isUnknown(key) ? [`${name}: ${key}`] : [])),
    );
    expect(unknown).toEqual([]);
    const inDockerfile = [...text('Dockerfile').matchAll(/ ([A-Z][A-Z0-9_]+)=/g)]
      .map((match) => match[1]!)
      .filter((key) => key !== 'NODE_ENV');
    expect(inDockerfile.length).toBeGreaterThan(2);
    expect(inDockerfile.filter(isUnknown)).toEqual([]);
  });

  it.each(ours)('%s has settings that the service accepts', (_, { environment }) => {
    const filled = Object.entries(environment!).map(([key, value]) => [key, withDefaults(value)] as const);
    const config = readConfig(Object.fromEntries(filled));
    expect(config.EVENTSTORE_URL).toMatch(/^esdb:\/\//);
    expect(config.REDIS_URL).toBe('redis://redis:6379');
    expect(() => checkProductionConfig(config, {})).not.toThrow();
    expect(needlessKeys(config)).toEqual([]);
  });

  it('have the roles of the profile, each its own number, and keys only with the signer', () => {
    const roles = ours.map(([name, { environment }]) => [name.replace(/-\d$/, ''), environment!['ROLES']]);
    expect(roles).toEqual([
      ['api', 'api'],
      ['api', 'api'],
      ['worker', 'worker'],
      ['worker', 'worker'],
      ['signer', 'signer'],
    ]);
    expect(new Set(ours.map(([, { environment }]) => environment!['NODE_NUMBER'])).size).toBe(ours.length);
    const holders = services.filter(([, { environment = {} }]) =>
      Object.keys(environment).some((key) => /WALLET_(MNEMONIC|KEYSTORE)/.test(key)),
    );
    expect(holders.map(([name]) => name)).toEqual(['signer']);
  });

  it('have TLS to both stores and the user of their role with secure.yml, and neither an administrator nor the eraser', () => {
    for (const [name, { environment }] of ours) {
      const secured = { ...environment, ...secure.services[name]!.environment };
      const role = environment!['ROLES']!;
      expect(secured['EVENTSTORE_URL']).toMatch(
        new RegExp(
          `^esdb://quittance-${role}:\\$\\{EVENTSTORE_${role.toUpperCase()}_PASSWORD\\}@.*[?]tls=true&tlsCAFile=`,
        ),
      );
      expect(secured['REDIS_URL']).toMatch(/^rediss:/);
      const others = Object.values(secured).filter(
        (value) => /ADMIN|ERASER/.test(value) && !value.includes(`EVENTSTORE_${role.toUpperCase()}_PASSWORD`),
      );
      expect(others).toEqual([]);
    }
    expect(Object.keys(secure.services['store-users']!.environment!).sort()).toEqual(
      [
        'EVENTSTORE_ADMIN_URL',
        ...['ops', ...STORE_USERS].map((user) => `EVENTSTORE_${user.toUpperCase()}_PASSWORD`),
      ].sort(),
    );
  });

  it('have each variable that the operator sets in the example file', () => {
    const asked = new Set(
      [...`${text('docker-compose.yml')}${text('ops/docker/secure.yml')}`.matchAll(/\$\{([A-Z_]+)/g)].map(
        (match) => match[1]!,
      ),
    );
    const example = text('ops/docker/env.example');
    const required = [...asked].filter((name) =>
      new RegExp(`\\$\\{${name}:\\?`).test(`${text('docker-compose.yml')}${text('ops/docker/secure.yml')}`),
    );
    expect(required.sort()).toEqual([
      ...[
        'API_SECRETS_KEY',
        ...['API', 'AUDITOR', 'ERASER', 'METRICS', 'SIGNER', 'WORKER'].map((user) => `EVENTSTORE_${user}_PASSWORD`),
      ],
      ...[
        'GRAFANA_ADMIN_PASSWORD',
        'KURRENTDB_ADMIN_PASSWORD',
        'KURRENTDB_OPS_PASSWORD',
        'PERSONAL_DATA_KEY',
        'REDIS_PASSWORD',
        'WEBHOOK_SECRETS_KEY',
      ],
    ]);
    expect(required.filter((name) => !new RegExp(`^${name}=$`, 'm').test(example))).toEqual([]);
    expect([...example.matchAll(/^([A-Z_]+)=/gm)].map((match) => match[1]!).filter((name) => !asked.has(name))).toEqual(
      [],
    );
  });
});

/** As compose fills them in when the operator has set nothing. */
function withDefaults(value: string): string {
  return value.replace(/\$\{[A-Z_]+:-([^}]*)\}/g, '$1').replace(/\$\{([A-Z_]+):\?[^}]*\}/g, 'given-$1');
}

describe('the Dockerfile', () => {
  const instructions = text('Dockerfile')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ name: line.split(' ', 1)[0]!, rest: line.slice(line.indexOf(' ') + 1) }));
  const of = (name: string): string[] =>
    instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest);

  it('is built in stages on the exact Node that the tests run on', () => {
    const { devDependencies } = JSON.parse(text('package.json')) as { devDependencies: Record<string, string> };
    expect(of('FROM').map((from) => from.split(' ')[0])).toEqual(
      Array(2).fill(`node:${devDependencies['node']!}-bookworm-slim`),
    );
    expect(of('FROM').every((from) => / AS [a-z]+$/.test(from))).toBe(true);
  });

  it('ends as a user without rights, started without a shell, so that signals arrive', () => {
    const last = instructions.findLastIndex(({ name }) => name === 'USER');
    expect(instructions[last]!.rest).toBe('node');
    expect(instructions.slice(last).some(({ name }) => name === 'RUN' || name === 'COPY')).toBe(false);
    for (const started of [...of('ENTRYPOINT'), ...of('CMD')])
      expect(() => JSON.parse(started) as unknown).not.toThrow();
    expect(of('HEALTHCHECK')[0]).toContain('CMD ["node"');
  });

  it('copies what exists, installs exactly the lock file without scripts, and fetches nothing else', () => {
    const copied = of('COPY')
      .filter((rest) => !rest.startsWith('--from'))
      .flatMap((rest) => rest.split(' ').slice(0, -1));
    expect(copied.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([]);
    expect(
      of('RUN').filter((rest) => /\b(npm|npx|curl|wget|apt-get)\b (?!ci )/.test(rest.replace(/rm -rf [^&]*/, ''))),
    ).toEqual([]);
    expect(of('RUN').join()).toContain('npm ci --ignore-scripts');
    expect(of('ADD')).toEqual([]);
    expect(of('ARG')).toEqual([]);
    expect(of('ENV').join()).not.toMatch(/KEY|SECRET|TOKEN|MNEMONIC|PASS/);
  });

  it('is given by .dockerignore exactly what it copies: no data, no key, no history', () => {
    const lines = text('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines[0]).toBe('*');
    const admitted = lines.slice(1).map((line) => line.replace(/^!/, ''));
    const copied = of('COPY')
      .filter((rest) => !rest.startsWith('--from'))
      .flatMap((rest) => rest.split(' ').slice(0, -1));
    expect(admitted.sort()).toEqual([...new Set(copied.map((path) => path.replace(/^\.\//, '')))].sort());
  });
});
