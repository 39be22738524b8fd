import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig, unknownSettings } from '../../../src/config.ts';
import { REPOSITORY } from '../../support/repository.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/*
 * What an operator copies onto a host: units, proxies and scripts, judged by the programs that read them where this
 * machine has them.
 */

const text = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');
const isThere = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: SBIN_PATH } }).status === 0;
const SBIN_PATH = `${process.env['PATH']}:/usr/sbin:/sbin`;

let folder: string;
beforeEach(() => (folder = temporaryFolder('install')));

describe('the units', () => {
  const names = readdirSync(join(REPOSITORY, 'ops/systemd')).filter((name) => /\.(service|timer)$/.test(name));

  it.skipIf(!isThere('systemd-analyze'))('are what systemd takes, without a word to say', () => {
    for (const name of names) {
      const here = text(`ops/systemd/${name}`)
        .replaceAll('/opt/quittance/current', REPOSITORY)
        .replaceAll('/usr/bin/node', process.execPath);
      writeFileSync(join(folder, name), here);
    }
    const { stderr, status } = spawnSync('systemd-analyze', ['verify', ...names.map((name) => join(folder, name))], {
      encoding: 'utf8',
    });
    expect([stderr, status]).toEqual(['', 0]);
  });

  it.each(names.filter((name) => name.endsWith('.service')))(
    '%s gives its program nothing that it does not need',
    (name) => {
      const lines = text(`ops/systemd/${name}`).split('\n');
      const kept = [
        'NoNewPrivileges=yes',
        'ProtectSystem=strict',
        'ProtectHome=yes',
        'PrivateTmp=yes',
        'CapabilityBoundingSet=',
        'UMask=0077',
      ];
      expect(kept.filter((line) => !lines.includes(line))).toEqual([]);
      // The compiler of Node needs such memory, and the audit lowers the priority of its thread.
      expect(lines.filter((line) => /^MemoryDenyWriteExecute=yes|^SystemCallFilter=~.*@resources/.test(line))).toEqual(
        [],
      );
    },
  );

  it('back up what each user has: the journal by the signer, who alone can read it, and without its keys', () => {
    const settings = (unit: string): Record<string, string> =>
      Object.fromEntries(
        [...text(`ops/systemd/${unit}`).matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
      );
    const [signer, backup] = [settings('quittance-signer.service'), settings('quittance-signer-backup.service')];
    const program = '/opt/quittance/current/ops/install/backup.sh';
    expect(backup).toMatchObject({
      ...{ User: signer['User'], Group: signer['Group'], PrivateNetwork: 'yes' },
      Environment: 'NODE_ENV=production SIGNER_JOURNAL_DIR=/var/lib/quittance-signer',
      ExecStart: `${program} /var/backups/quittance-signer --only signer`,
      ReadWritePaths: '/var/backups/quittance-signer /var/lib/quittance-signer',
      InaccessiblePaths: '-/etc/quittance-signer',
    });
    expect(backup).not.toHaveProperty('EnvironmentFile');
    const install = text('docs/install.md');
    for (const timer of names.filter((name) => name.endsWith('.timer'))) {
      const { User, ExecStart } = settings(timer.replace('.timer', '.service'));
      const [, place] = / (\/var\/backups\/\S+)/.exec(ExecStart!)!;
      expect(install).toMatch(new RegExp(`^systemctl enable .*\\b${timer}\\b`, 'm'));
      expect(install).toMatch(new RegExp(`^install -d .*-o ${User} .*${place}$`, 'm'));
    }
  });

  it('are documented with settings that exist', () => {
    const [, sample] = /`\/etc\/quittance\/environment` holds[^]*?```sh\n([^]*?)```/.exec(text('docs/install.md'))!;
    const settings = Object.fromEntries(
      [...sample!.matchAll(/^(\w+)=(\S+)/gm)].map(([, name, value]) => [name, value]),
    );
    expect(Object.keys(settings).length).toBeGreaterThan(5);
    expect(unknownSettings(settings)).toEqual([]);
    expect(() => readConfig({ ...settings, MASTER_KEY: 'ab'.repeat(32) })).not.toThrow();
  });
});

describe('the proxies', () => {
  it.skipIf(!isThere('nginx'))('nginx accepts its configuration', () => {
    const { certificate, key } = selfSigned();
    const site = text('ops/proxy/nginx.conf')
      .replace(/(ssl_certificate) .*;/, `$1 ${certificate};`)
      .replace(/(ssl_certificate_key) .*;/, `$1 ${key};`);
    const main = join(folder, 'main.conf');
    writeFileSync(join(folder, 'site.conf'), site);
    writeFileSync(
      main,
      `pid ${folder}/pid; error_log ${folder}/log; events {} http { access_log off; include ${folder}/site.conf; }`,
    );
    const { stderr, status } = spawnSync('nginx', ['-t', '-q', '-c', main], {
      encoding: 'utf8',
      env: { PATH: SBIN_PATH },
    });
    expect([stderr, status]).toEqual(['', 0]);
  });

  it.skipIf(!isThere('caddy'))('Caddy takes its configuration', () => {
    const args = ['validate', '--adapter', 'caddyfile', '--config', join(REPOSITORY, 'ops/proxy/Caddyfile')];
    expect(
      spawnSync('caddy', args, { encoding: 'utf8', env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder } })
        .status,
    ).toBe(0);
  });

  function selfSigned(): { certificate: string; key: string } {
    const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-subj',
        '/CN=pay.shop.example',
        '-out',
        certificate,
        '-keyout',
        key,
      ],
      {
        stdio: 'ignore',
      },
    );
    return { certificate, key };
  }
});

describe('update.sh', { timeout: 120_000 }, () => {
  let service: Server;
  let root: string;
  /** What systemd was told, in order, and which release was current then. */
  const told = (): string[] =>
    existsSync(join(folder, 'told')) ? readFileSync(join(folder, 'told'), 'utf8').trim().split('\n') : [];
  const current = (): string => basename(readlinkSync(join(root, 'current')));

  beforeEach(async () => {
    root = join(folder, 'opt');
    mkdirSync(join(folder, 'bin'));
    mkdirSync(root);
    executable('systemctl', `echo "$* $(basename "$(readlink ${root}/current)" | cut -d- -f1)" >> ${folder}/told`);
    writeFileSync(join(folder, 'environment'), 'NAME=value\n');
    // Ready while the release that is current is a good one.
    service = createServer((_, response) =>
      response.writeHead(existsSync(join(root, 'current/is-bad')) ? 503 : 200).end(),
    );
    await new Promise<void>((done) => service.listen(0, '127.0.0.1', done));
  });
  afterEach(() => void service.close());

  const executable = (name: string, script: string): void => {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  };
  function release(version: string, { isBad = false, doctor = 0 } = {}): string {
    const source = join(folder, `source-${version}`);
    mkdirSync(join(source, 'bin'), { recursive: true });
    mkdirSync(join(source, 'lib'));
    writeFileSync(join(source, 'lib/main.mjs'), '');
    writeFileSync(join(source, 'package.json'), JSON.stringify({ version }));
    writeFileSync(
      join(source, 'bin/quittance.mjs'),
      `process.exit(process.env.NAME === 'value' && process.argv[2] === 'doctor' ? ${doctor} : 9);`,
    );
    if (isBad) writeFileSync(join(source, 'is-bad'), '');
    return source;
  }
  const unbuilt = (source: string): string => (rmSync(join(source, 'lib'), { recursive: true }), source);
  let isDespiteFaults = 'no';
  async function update(...args: string[]): Promise<string> {
    const env = {
      QUITTANCE_DESPITE_FAULTS: isDespiteFaults,
      PATH: `${folder}/bin:${SBIN_PATH}`,
      NODE: process.execPath,
      QUITTANCE_ROOT: root,
      QUITTANCE_SETTINGS: join(folder, 'environment'),
      ...{ QUITTANCE_USER: userInfo().username, QUITTANCE_WAIT_SECONDS: '1' },
      QUITTANCE_READY_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}/readyz`,
    };
    const run = promisify(execFile)(join(REPOSITORY, 'ops/install/update.sh'), args, { env, encoding: 'utf8' });
    return run.then(
      ({ stdout }) => stdout,
      ({ code, stderr }: { code: number; stderr: string }) => `${code} ${stderr}`,
    );
  }

  it('installs releases one after another, and rolls back to the previous one', async () => {
    expect(await update(release('1.0.0'))).toMatch(/^update: 1\.0\.0-\w+ runs\n$/);
    expect(await update('--back')).toBe('1 update: no release ran before this one\n');
    expect(await update(release('2.0.0'))).toMatch(/2\.0\.0-\w+ runs/);
    expect(await update('--back')).toMatch(/1\.0\.0-\w+ runs/);
    expect(told()).toEqual(
      ['1.0.0', '2.0.0', '1.0.0'].flatMap((version) => [
        `restart quittance-signer ${version}`,
        `restart quittance ${version}`,
      ]),
    );
    expect(await update('--back')).toMatch(/2\.0\.0-\w+ runs/);
  });

  it("installs a release despite doctor's findings if told to", async () => {
    isDespiteFaults = 'yes';
    expect(await update(release('2.0.0', { doctor: 1 }))).toMatch(/2\.0\.0-\w+ runs/);
    isDespiteFaults = 'no';
  });

  it('rolls back a release that does not become ready', async () => {
    await update(release('1.0.0'));
    expect(await update(release('2.0.0', { isBad: true }))).toMatch(
      /^1 update: 2\.0\.0-\w+ was not ready after 1 s; 1\.0\.0-\w+ runs again\n$/,
    );
    expect(current()).toMatch(/^1\.0\.0-/);
    expect(existsSync(join(root, 'previous'))).toBe(false);
  });

  it.each<[string, () => string, RegExp]>([
    ['whose doctor finds a fault', () => release('2.0.0', { doctor: 1 }), /doctor found a fault; nothing was changed/],
    [
      'that was not built',
      () => unbuilt(release('2.0.0')),
      /has no lib\/main\.mjs\. In a checkout run "npm ci && npm run build" and name its folder dist/,
    ],
    ['that is none', () => mkdtempSync(join(folder, 'empty-')), /is no release: it has no package\.json/],
    ['that is not there', () => join(folder, 'nowhere'), /is no folder/],
  ])('changes nothing for a release %s', async (_, made, message) => {
    await update(release('1.0.0'));
    const before = told().length;
    expect(await update(made())).toMatch(message);
    expect([told().length, readdirSync(join(root, 'releases')).length]).toEqual([before, 1]);
    expect(current()).toMatch(/^1\.0\.0-/);
  });
});

describe('backup.sh', () => {
  it('makes a backup, reads it back, and removes old complete ones', async () => {
    const under = join(folder, 'backups');
    const program = join(folder, 'node');
    writeFileSync(
      program,
      `#!/bin/sh\nshift; echo "$*" | sed 's| ${folder}[^ ]*||' >> ${folder}/told\n[ "$2" = --to ] && mkdir -p "$3" && touch "$3/backup.json"\nexit 0\n`,
    );
    chmodSync(program, 0o755);
    for (const [name, file, daysAgo] of [
      ['old', 'backup.json', 20],
      ['new', 'backup.json', 3],
      ['of-somebody', 'notes', 20],
    ] as const) {
      mkdirSync(join(under, name), { recursive: true });
      writeFileSync(join(under, name, file), '');
      const at = Date.now() / 1000 - daysAgo * 86_400;
      utimesSync(join(under, name, file), at, at);
    }
    await promisify(execFile)(join(REPOSITORY, 'ops/install/backup.sh'), [under, '--only', 'signer'], {
      env: { PATH: SBIN_PATH, NODE: program },
    });
    expect(readFileSync(join(folder, 'told'), 'utf8')).toBe('backup --to --only signer\nbackup verify\n');
    expect(readdirSync(under).filter((name) => !/^\d{4}-/.test(name))).toEqual(['new', 'of-somebody']);
    expect(readdirSync(under)).toHaveLength(3);
  });
});
