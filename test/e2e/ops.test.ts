import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, openBrowser } from '../support/browser.ts';
import { PROMETHEUS, startPrometheus, type RunningPrometheus } from '../support/running-prometheus.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';

const repository = resolve(import.meta.dirname, '../..');
const NETWORKS = ['ethereum', 'bsc', 'tron'] as const;
/** Never to be printed: said by a merchant about a person. */
const PERSONAL = ['Ada Lovelace', 'ada@example.org', 'a very private description'];

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

let sandbox: RunningSandbox;
let prometheus: RunningPrometheus | null = null;
const dashboards = readdirSync(join(repository, 'ops/grafana')).map(
  (name) =>
    JSON.parse(readFileSync(join(repository, 'ops/grafana', name), 'utf8')) as { title: string; panels: Panel[] },
);

const call = (method: string, path: string, body?: unknown) =>
  signedCall(sandbox.facts.base_url, sandbox.facts.merchant, method, path, body);
const ops = (path: string): Promise<Response> => fetch(sandbox.facts.ops_url + path);

async function pay(orderId: string, network: string): Promise<string> {
  const body = {
    amount: '12.50',
    currency: 'EUR',
    order_id: orderId,
    description: PERSONAL[2],
    metadata: { customer: PERSONAL[0], email: PERSONAL[1] },
  };
  const { json } = await call('POST', '/api/v1/checkout/sessions/create', body);
  const id = json.id as string;
  expect((await call('POST', `/v1/sandbox/sessions/${id}/pay`, { network })).status).toBe(200);
  return id;
}

const isPaid = async (id: string): Promise<boolean> =>
  (await call('GET', `/api/v1/checkout/sessions/${id}`)).json.payment_status === 'paid';

beforeAll(async () => {
  sandbox = await startRunningSandbox({ env: { LOG_LEVEL: 'debug', SANDBOX_NETWORKS: NETWORKS.join() } });
  if (PROMETHEUS !== undefined)
    prometheus = await startPrometheus(
      sandbox.facts.ops_url,
      readFileSync(join(repository, 'ops/prometheus/alerts.yml'), 'utf8'),
    );
  // Two rounds with scrapes between them, so that rates have something to rise from.
  await pay('before', 'ethereum').then((id) => eventually('the first payment', () => isPaid(id)));
  await new Promise((wait) => setTimeout(wait, 2_000));
  const ids = await Promise.all(NETWORKS.map((network) => pay(`round-${network}`, network)));
  await fetch(`${sandbox.facts.base_url}/pay/${ids[0]}`);
  await signedCall(
    sandbox.facts.base_url,
    { ...sandbox.facts.merchant, api_secret: 'wrong' },
    'GET',
    '/v1/payment/sessions',
  );
  for (const id of ids) await eventually(`payment of ${id}`, () => isPaid(id));
  const refund = await call('POST', '/v1/refunds', { session_id: ids[0], reason: PERSONAL[2] });
  expect(refund.status).toBe(200);
  await eventually(
    'the refund',
    async () => {
      const { json } = await call('GET', `/v1/refunds/${String(refund.json.id)}`);
      return json.status === 'COMPLETED' || json.status === 'FAILED';
    },
    60_000,
  );
}, 200_000);

afterAll(async () => {
  await prometheus?.stop();
  await sandbox?.stop();
  if (sandbox) rmSync(sandbox.dataDir, { recursive: true, force: true });
});

describe('the ops port of a running sandbox', () => {
  it('reports liveness, start-up and readiness with reasons', async () => {
    expect((await ops('/healthz')).status).toBe(200);
    expect((await ops('/startupz')).status).toBe(200);
    const ready = await ops('/readyz');
    expect(ready.status).toBe(200);
    const body = (await ready.json()) as {
      status: string;
      degraded: string[];
      checks: { name: string; state: string }[];
    };
    expect(body.status).toBe('ready');
    expect(body.checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'chain:test:ethereum',
        'projection:session-view@1',
        'rates',
        'webhooks',
        'webhook-endpoints',
        'addresses:test:evm',
      ]),
    );
    expect((await fetch(`${sandbox.facts.ops_url}/readyz`, { method: 'POST' })).status).toBe(405);
    expect((await ops('/nothing')).status).toBe(404);
  });

  it('keeps few addresses ready in a sandbox, since each start derives them', async () => {
    const metrics = await (await ops('/metrics')).text();
    const targets = [...metrics.matchAll(/^quittance_address_stock_target\{mode="test",family="(\w+)"\} (\d+)$/gm)];
    expect(targets.map(([, family, target]) => [family, target])).toEqual([
      ['evm', '256'],
      ['tron', '256'],
      ['solana', '256'],
    ]);
  });

  it('shows the state on one page without outside assets or anything personal', async () => {
    const page = await ops('/');
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    const html = await page.text();
    for (const fact of ['ethereum', 'bsc', 'tron', 'Last payment', '13.50 USDT', 'Needs attention'])
      expect(html).toContain(fact);
    expect(html).not.toMatch(/<script |<img|<link|src=|href=|cs_[a-z2-7]{32}|mer_/);
  });

  it.skipIf(CHROMIUM === undefined)('fits a phone and a screen', async () => {
    const browser = await openBrowser();
    try {
      for (const [width, height] of [
        [360, 740],
        [1280, 800],
      ] as const) {
        const page = await browser.newPage({ viewport: { width, height } });
        const faults: string[] = [];
        page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
        await page.goto(sandbox.facts.ops_url);
        expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(
          0,
        );
        expect(await page.evaluate("getComputedStyle(document.querySelector('section')).borderRadius")).toBe('8px');
        expect(faults.filter((text) => !text.includes('favicon'))).toEqual([]);
        const picture = process.env.OPS_SCREENSHOTS;
        if (picture !== undefined)
          await page.screenshot({ path: join(picture, `status-${width}.png`), fullPage: true });
        await page.close();
      }
    } finally {
      await browser.close();
    }
  });

  it('prints no secret or personal data, whatever the level', async () => {
    const { merchant } = sandbox.facts;
    const printed = sandbox.output();
    expect(printed).toContain('authentication failed');
    expect(printed).toMatch(/"requestId":"req_\w+","operation":"createPaymentSession","status":200,"merchant":"mer_/);
    const files = ['master.key', join('wallet', 'test.key')].map((name) => join(sandbox.dataDir, name));
    const secrets = [
      merchant.api_key,
      merchant.api_secret,
      merchant.webhook_secret,
      ...PERSONAL,
      ...files.map((path) => readFileSync(path, 'utf8').trim()),
    ];
    for (const secret of secrets) expect(printed.includes(secret)).toBe(false);
    expect(printed).not.toMatch(/\bsks?_test_[A-Za-z0-9]{10}|\bwhs_test_[A-Za-z0-9]{10}|[xt]prv/);
  });
});

describe.skipIf(PROMETHEUS === undefined)('a real Prometheus scraping it', () => {
  for (const { title, panels } of dashboards) {
    it(`has data for every panel of "${title}"`, async () => {
      const emptyOnes = async (): Promise<string[]> => {
        const empty: string[] = [];
        for (const panel of panels) {
          for (const { expr } of panel.targets) {
            const asked = expr.replaceAll('$mode', 'test').replaceAll('$__rate_interval', '5m');
            const values = await prometheus!.query(asked);
            if (!values.some((value) => Number.isFinite(value))) empty.push(`${panel.title}: ${asked}`);
          }
        }
        return empty;
      };
      // Some figures are counted four times a minute only.
      await eventually('data for every panel', async () => (await emptyOnes()).length === 0).catch(() => undefined);
      expect(await emptyOnes()).toEqual([]);
    });
  }

  it('accepts the alert rules and finds nothing wrong', async () => {
    const rules = await prometheus!.rules();
    expect(rules.length).toBeGreaterThan(30);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(rules.filter(({ state }) => state === 'firing').map(({ name }) => name)).toEqual(['Watchdog']);
  });
});
