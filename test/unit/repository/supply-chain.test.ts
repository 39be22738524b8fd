import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
// @ts-expect-error -- a script without types
import { imagesIn as imagesInScript, pin as pinInScript } from '../../../scripts/pin-images.mjs';
import { REPOSITORY } from '../../support/repository.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

interface Named {
  readonly name: string;
  readonly version: string;
  readonly digest: string | null;
}
const imagesIn = imagesInScript as (text: string) => Named[];
const pin = pinInScript as (directory: string, check: boolean) => Promise<{ told: string[]; faults: number }>;

const [OLD, NEW] = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`];

let directory: string;
let registry: Server;
let host: string;
/** What the registry has now; null for nothing. */
let digest: string | null;
beforeEach(async () => {
  directory = temporaryFolder('pin-images');
  mkdirSync(join(directory, 'ops', 'docker'), { recursive: true });
  digest = NEW;
  registry = createServer((request, response) => {
    if (request.url!.startsWith('/token')) return response.end(JSON.stringify({ token: 'for-anyone' }));
    if (request.headers.authorization !== 'Bearer for-anyone') {
      response.writeHead(401, {
        'www-authenticate': `Bearer realm="http://${host}/token",service="here",scope="repository:team/app:pull"`,
      });
      return response.end();
    }
    if (digest === null || request.url !== '/v2/team/app/manifests/1.2.3') return response.writeHead(404).end();
    return response.writeHead(200, { 'docker-content-digest': digest }).end();
  });
  await new Promise<void>((done) => registry.listen(0, '127.0.0.1', done));
  host = `127.0.0.1:${(registry.address() as AddressInfo).port}`;
});
afterEach(async () => {
  registry.closeAllConnections();
  await new Promise((done) => registry.close(done));
});

const file = (name: string): string => join(directory, name);
function write(pinned: string): void {
  writeFileSync(
    file('Dockerfile'),
    `FROM ${host}/team/app:1.2.3${pinned} AS packages\nFROM ${host}/team/app:1.2.3${pinned} AS service\n`,
  );
  writeFileSync(
    file('docker-compose.yml'),
    `services:\n  own:\n    image: quittance:local\n  other:\n    image: ${host}/team/app:1.2.3${pinned}\n`,
  );
  writeFileSync(file('ops/docker/secure.yml'), 'services: {}\n');
}

describe('pinning images', () => {
  it('appends the digest to each version, and replaces it when the registry has another one', async () => {
    for (const before of ['', `@${OLD}`]) {
      write(before);
      expect(await pin(directory, true)).toMatchObject({ faults: 2 });
      expect(readFileSync(file('Dockerfile'), 'utf8')).not.toContain(NEW);
      expect(await pin(directory, false)).toMatchObject({ faults: 0 });
      for (const name of ['Dockerfile', 'docker-compose.yml']) {
        expect(imagesIn(readFileSync(file(name), 'utf8'))).toMatchObject([
          { name: `${host}/team/app`, version: '1.2.3', digest: NEW },
        ]);
        expect(readFileSync(file(name), 'utf8')).not.toContain(OLD);
      }
      expect(readFileSync(file('Dockerfile'), 'utf8').match(/ AS /g)).toHaveLength(2);
      expect(await pin(directory, true)).toEqual({ told: [], faults: 0 });
    }
  });

  it('names the image that was not looked up, does not change it, and fails', async () => {
    write(`@${OLD}`);
    digest = null;
    const { told, faults } = await pin(directory, false);
    expect(faults).toBe(2);
    expect(told[0]).toMatch(/^Dockerfile: .*team\/app:1.2.3.* was not looked up: .*404/);
    expect(readFileSync(file('Dockerfile'), 'utf8')).toContain(OLD);
  });

  it.each(['FROM node', 'FROM node:latest', '    image: redis', '    image: redis:7@sha256:short'])(
    'accepts no image without an exact version: %s',
    (text) => {
      expect(() => imagesIn(text)).toThrow(/name an exact version/);
    },
  );

  it('covers every image that we use', () => {
    const found = ['Dockerfile', 'docker-compose.yml', 'ops/docker/secure.yml'].flatMap((name) =>
      imagesIn(readFileSync(join(REPOSITORY, name), 'utf8')),
    );
    expect(found.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['node', 'redis', 'docker.kurrent.io/kurrent-lts/kurrentdb']),
    );
    expect(found.filter(({ version }) => !/^v?\d+\.\d+\.\d+/.test(version))).toEqual([]);
  });
});

describe('the check of the packages for vulnerabilities', () => {
  /** The script beside an npm that answers so. */
  function run(args: readonly string[], answer: string): Promise<{ status: number | null; output: string }> {
    writeFileSync(file('npm'), `#!${process.execPath}\nprocess.stdout.write(${JSON.stringify(answer)})\n`, {
      mode: 0o755,
    });
    const env = { ...process.env, PATH: `${directory}${delimiter}${process.env['PATH']}` };
    const child = spawn(process.execPath, [join(REPOSITORY, 'scripts', 'supply-chain.mjs'), ...args], { env });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    return new Promise((done) => child.on('close', (status) => done({ status, output })));
  }

  it('does not pass if the registry did not respond', async () => {
    for (const answer of ['', '{"message":"405 Method Not Allowed"}', 'not JSON']) {
      const { status, output } = await run(['audit'], answer);
      expect([status, output]).toEqual([2, expect.stringContaining('nobody looked')]);
    }
  });

  it('names each vulnerability, or that there is none', async () => {
    const of = (total: number, vulnerabilities: object) =>
      JSON.stringify({ vulnerabilities, metadata: { vulnerabilities: { total }, dependencies: { prod: 9 } } });
    expect(await run(['audit'], of(0, {}))).toMatchObject({
      status: 0,
      output: '0 known vulnerabilities in 9 packages\n',
    });
    const bad = { express: { name: 'express', severity: 'high', range: '<5', fixAvailable: true } };
    expect(await run(['audit'], of(1, bad))).toMatchObject({
      status: 1,
      output: expect.stringMatching(/^high: express <5/) as string,
    });
  });

  it('is a bill of materials in a file, or a fault', async () => {
    const bill = { bomFormat: 'CycloneDX', components: [{ name: 'express' }] };
    expect(await run(['sbom', file('sbom.json')], JSON.stringify(bill))).toMatchObject({ status: 0 });
    expect(JSON.parse(readFileSync(file('sbom.json'), 'utf8'))).toEqual(bill);
    expect(await run(['sbom', file('none.json')], '')).toMatchObject({ status: 1 });
  });
});
