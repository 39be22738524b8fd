import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { MerchantId, NotificationId } from '../../src/domain/values/ids.ts';
import type { Notification } from '../../src/domain/notifications/notifications.ts';
import { sampleNotification } from '../../src/domain/notifications/samples.ts';
import { signedHeaders } from '../../src/features/webhooks/signing.ts';
import { receiverSamples } from '../../src/http/openapi/receiver-samples.ts';
import { eventually } from '../support/running-sandbox.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Every printed receiver, run as printed, against the requests that the service makes. */

const has = (command: string, argument = '--version'): boolean => spawnSync(command, [argument]).status === 0;
const PROGRAMS: Readonly<
  Record<string, { readonly file: string; readonly installed: boolean; start(file: string, port: number): string[] }>
> = {
  JavaScript: { file: 'receiver.mjs', installed: true, start: (file) => [process.execPath, file] },
  Python: { file: 'receiver.py', installed: has('python3'), start: (file) => ['python3', file] },
  PHP: { file: 'webhook.php', installed: has('php'), start: (file, port) => ['php', '-S', `127.0.0.1:${port}`, file] },
  // Built once where the compiler is installed, which takes a minute on a busy machine.
  Go: { file: 'receiver.go', installed: has('go', 'version'), start: (file) => [join(file, '../../built-receiver')] },
};

const SECRET = randomBytes(24).toString('hex');
const sample = (id: string) =>
  sampleNotification(
    'payment.completed',
    id as NotificationId,
    { merchantId: 'mer_1' as MerchantId, mode: 'test' },
    Date.now(),
  );
const [first, second] = [sample('evt_1767225660123456789'), sample('evt_1767225660123456790')];

interface Change {
  readonly secret?: string;
  readonly nextSecret?: string;
  readonly nowMs?: number;
  readonly sentBody?: string;
}

async function deliver(port: number, event: Notification, change: Change = {}): Promise<number> {
  const key = (text: string) => createSecretKey(Buffer.from(text));
  const { secret = SECRET, nextSecret, nowMs = Date.now(), sentBody = event.body } = change;
  const waiting = nextSecret === undefined ? null : { key: key(nextSecret), activatesAtSec: 1e11 };
  const flat = signedHeaders({
    prefix: 'X-Service-',
    endpoint: { secret: key(secret), nextSecret: waiting, standardWebhooks: false },
    eventType: 'payment.completed',
    eventId: event.notificationId,
    body: event.body,
    nowMs,
    nonce: randomUUID(),
  });
  const headers = flat.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, flat[index + 1]!]] : [],
  );
  const response = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body: sentBody });
  await response.arrayBuffer();
  return response.status;
}

/** Five minutes are allowed, and a busy machine takes some of them. */
const TOO_FAR_MS = 360_000;

let folder: string;
let running: ChildProcess | undefined;
beforeAll(() => void (folder = temporaryFolder('receivers')));
afterEach(async () => {
  // `go run` and `php -S` have children of their own.
  if (running?.pid !== undefined && running.exitCode === null && running.signalCode === null) {
    const gone = new Promise((resolve) => running!.once('exit', resolve));
    process.kill(-running.pid);
    await gone;
  }
});

describe.each(receiverSamples('X-Service-'))('the printed receiver in $label', ({ label, source }) => {
  const { file, installed, start } = PROGRAMS[label]!;

  if (label === 'Go' && installed)
    beforeAll(() => {
      const own = mkdtempSync(join(folder, 'go-'));
      writeFileSync(join(own, file), source);
      const built = spawnSync('go', ['build', '-o', join(folder, 'built-receiver'), join(own, file)]);
      if (built.status !== 0) throw new Error(`the printed receiver does not compile: ${built.stderr.toString()}`);
    }, 300_000);

  const started = async (settings: { readonly QUITTANCE_WEBHOOK_SECRET?: string }) => {
    const [port, own] = [await freePort(), mkdtempSync(join(folder, 'receiver-'))];
    writeFileSync(join(own, file), source);
    const [command, ...args] = start(join(own, file), port) as [string, ...string[]];
    const env = { PATH: process.env.PATH, HOME: own, PORT: String(port), HANDLED_DIR: own, ...settings };
    const child = spawn(command, args, { cwd: own, env, detached: true });
    running = child;
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => void (text += chunk.toString()));
    return { port, child, said: () => text };
  };

  it.skipIf(!installed).each<[string, { readonly QUITTANCE_WEBHOOK_SECRET?: string }]>([
    ['unset', {}],
    ['empty', { QUITTANCE_WEBHOOK_SECRET: '' }],
    ['blank', { QUITTANCE_WEBHOOK_SECRET: '  ' }],
  ])('works with no secret that is %s: nothing signed with the empty key is believed', async (_, settings) => {
    const { port, child, said } = await started(settings);
    const answers = async (): Promise<number | null> => {
      if (child.exitCode !== null) return child.exitCode === 0 ? 200 : 500;
      return deliver(port, first, { secret: settings.QUITTANCE_WEBHOOK_SECRET ?? '' }).catch(() => null);
    };
    expect(await eventually('a refusal', answers, 60_000)).toBe(500);
    expect(said()).toContain('QUITTANCE_WEBHOOK_SECRET is not set');
    expect(said()).not.toContain('paid: ');
  });

  it.skipIf(!installed)('goes on after a request that breaks off', async () => {
    const { port } = await started({ QUITTANCE_WEBHOOK_SECRET: SECRET });
    await eventually('an answer', () => deliver(port, first).catch(() => null), 60_000);
    const broken = connect(port, '127.0.0.1');
    await once(broken, 'connect');
    broken.write('POST /webhooks HTTP/1.1\r\nHost: shop\r\nContent-Length: 500\r\n\r\n{"half');
    await new Promise((done) => setTimeout(done, 100));
    broken.destroy();
    await new Promise((done) => setTimeout(done, 100));
    expect(await deliver(port, first)).toBe(200);
  });

  it.skipIf(!installed)('believes genuine events only, and handles each once', async () => {
    const { port, said } = await started({ QUITTANCE_WEBHOOK_SECRET: SECRET });
    expect(await eventually('an answer', () => deliver(port, first).catch(() => null), 60_000)).toBe(200);
    expect(await deliver(port, first)).toBe(200);
    expect(await deliver(port, first, { secret: 'another' })).toBe(401);
    expect(await deliver(port, first, { nowMs: Date.now() - TOO_FAR_MS })).toBe(401);
    expect(await deliver(port, first, { nowMs: Date.now() + TOO_FAR_MS })).toBe(401);
    expect(await deliver(port, first, { sentBody: first.body.replace('completed', 'completeD') })).toBe(401);
    const unsigned = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body: first.body });
    expect([unsigned.status, await unsigned.json()]).toEqual([401, { error: 'invalid signature' }]);
    expect(said().match(/paid: /g)).toHaveLength(1);

    expect(await deliver(port, second, { secret: 'old', nextSecret: SECRET })).toBe(200);
    await eventually('handling', async () => (said().match(/paid: /g)?.length === 2 ? true : null), 5_000);
  });
});
