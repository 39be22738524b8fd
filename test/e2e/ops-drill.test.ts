import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROMETHEUS, startPrometheus, type RunningPrometheus } from '../support/running-prometheus.ts';
import { freePort } from '../support/free-port.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';

/**
 * The alert rules as they are shipped, with minutes become seconds, so that a fault of some seconds is a drill. What is
 * compared stays as it is, except for ages.
 */
const rules = readFileSync(resolve(import.meta.dirname, '../../ops/prometheus/alerts.yml'), 'utf8')
  .replaceAll(/\[(\d+)(m|h)\]/g, '[8s]')
  .replaceAll(/^( +for:) .*$/gm, '$1 1s')
  .replaceAll('mode="live"', 'mode="test"')
  .replace('quittance_chain_scan_lag_seconds > 300', 'quittance_chain_scan_lag_seconds > 5')
  .replace('quittance_webhook_oldest_pending_age_seconds > 300', 'quittance_webhook_oldest_pending_age_seconds > 3');

let sandbox: RunningSandbox;
let ports: { readonly PORT: string; readonly OPS_PORT: string };
let prometheus: RunningPrometheus;
let receiver: Server;
let answer = 200;
let orders = 0;
const stopped = new Set<number>();

const call = (method: string, path: string, body?: unknown) =>
  signedCall(sandbox.facts.base_url, sandbox.facts.merchant, method, path, body);

async function notify(): Promise<void> {
  const { json } = await call('POST', '/api/v1/checkout/sessions/create', {
    amount: '5.00',
    currency: 'USDT',
    order_id: `drill-${(orders += 1)}`,
  });
  await call('POST', `/api/v1/checkout/sessions/${String(json.id)}/cancel`);
}

const isFiring = async (name: string): Promise<boolean> =>
  (await prometheus.rules()).some((rule) => rule.name === name && rule.state === 'firing');
const fires = (name: string, during: () => Promise<unknown> = async () => undefined) =>
  eventually(`${name} to fire`, async () => {
    await during();
    return isFiring(name);
  });
const clears = (name: string, during: () => Promise<unknown> = async () => undefined) =>
  eventually(
    `${name} to clear`,
    async () => {
      await during();
      return !(await isFiring(name));
    },
    90_000,
  );

/** The process that listens on a port of this machine. */
function listenerOn(port: number): number {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const sockets = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const inode = sockets.find(([, local, , state]) => local?.endsWith(wanted) && state === '0A')?.[9];
  const holds = (pid: string): boolean => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some(
        (name) => readlinkSync(`/proc/${pid}/fd/${name}`) === `socket:[${inode}]`,
      );
    } catch {
      // It ended meanwhile, or belongs to somebody else.
      return false;
    }
  };
  const found = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && holds(name));
  expect(found).toHaveLength(1);
  return Number(found[0]);
}

describe.skipIf(PROMETHEUS === undefined || process.platform !== 'linux')(
  'a drill: a fault is caused, its alert fires, the fault ends, the alert clears',
  () => {
    beforeAll(async () => {
      receiver = createServer((request, response) => {
        request.resume().on('end', () => response.writeHead(answer).end());
      });
      await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
      // The node comes back under the same ones, which no outgoing connection may take meanwhile.
      ports = { PORT: String(await freePort()), OPS_PORT: String(await freePort()) };
      sandbox = await startRunningSandbox({ env: { ...ports, SANDBOX_NETWORKS: 'ethereum' } });
      prometheus = await startPrometheus(sandbox.facts.ops_url, rules);
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
      expect((await call('PATCH', '/v1/merchant', { webhook: { url } })).status).toBe(200);
    }, 90_000);

    afterAll(async () => {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
      await prometheus?.stop();
      await sandbox?.stop();
      receiver?.closeAllConnections();
      receiver?.close();
      if (sandbox) rmSync(sandbox.dataDir, { recursive: true, force: true });
    });

    it('begins with nothing firing', async () => {
      await eventually(
        'a first evaluation',
        async () => (await prometheus.query('count(quittance_ready == 1)'))[0] === 1,
      );
      const firing = (await prometheus.rules()).filter(({ state, health }) => state === 'firing' || health === 'err');
      expect(firing.map(({ name }) => name)).toEqual(['Watchdog']);
    });

    it('somebody signs with a wrong secret', async () => {
      const wrong = { ...sandbox.facts.merchant, api_secret: 'wrong' };
      await fires('AuthenticationFailuresHigh', () =>
        Promise.all([1, 2, 3].map(() => signedCall(sandbox.facts.base_url, wrong, 'GET', '/v1/merchant'))),
      );
      await clears('AuthenticationFailuresHigh');
    });

    it('a receiver refuses', async () => {
      answer = 400;
      await fires('WebhookDeliveriesGivenUp', notify);
      await fires('WebhooksFailing', notify);
      answer = 200;
      await clears('WebhookDeliveriesGivenUp');
      await clears('WebhooksFailing', notify);
    });

    it('a receiver is down', async () => {
      answer = 503;
      await notify();
      await fires('WebhookBacklog');
      answer = 200;
      await clears('WebhookBacklog');
    });

    it('a chain does not respond', async () => {
      const pid = listenerOn(Number(new URL(sandbox.facts.networks.ethereum!.rpc_url).port));
      stopped.add(pid);
      process.kill(pid, 'SIGSTOP');
      await fires('ChainNotRead');
      process.kill(pid, 'SIGCONT');
      stopped.delete(pid);
      await clears('ChainNotRead');
    });

    it('the node ends', async () => {
      const { dataDir } = sandbox;
      await sandbox.stop('SIGKILL');
      await fires('QuittanceDown');
      sandbox = await startRunningSandbox({ dataDir, env: { ...ports, SANDBOX_NETWORKS: 'ethereum' } });
      await clears('QuittanceDown');
    });
  },
);
