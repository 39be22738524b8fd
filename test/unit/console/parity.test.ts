import type { Command } from 'commander';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CliHost } from '../../../src/cli/host.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { ROUTES } from '../../support/console-routes.ts';
import { ALL_PARTS, startTestServer, type TestServer } from '../../support/http-api.ts';

/* What people can see and do in the console, programs can, too: by a command with `--json`, or by the merchant's API. */

const LISTED = ['GET /v1/payment/sessions', 'session totals'];
const DELIVERIES = ['GET /v1/webhooks/deliveries', 'webhook deliveries'];
const CLOSED = ['ledger periods', 'ledger month-statement'];
/** Print JSON without being asked to. */
const ALWAYS_JSON = ['audit export', 'ledger month-statement'];
/** Only about how a browser is signed in, or a mere signpost to the pages behind it. */
const NOTHING: readonly string[] = [];

/** Files of a page are left out: they hold its rows. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  'GET /': NOTHING,
  'GET /actions': ['people actions'],
  'GET /adjustments': ['ledger adjustments'],
  'GET /attention': [
    'status',
    'treasury status',
    'treasury moves',
    'inbox list',
    'chain status',
    'chain coverage',
    'webhook deliveries',
    'canary history',
  ],
  'GET /audit': ['audit status', 'audit key'],
  'GET /audit/export.jsonl': ['audit export'],
  'GET /audit/proof': ['audit prove', 'GET /v1/payment/sessions/{id}/proof'],
  'GET /books': NOTHING,
  'GET /books/:mode': ['ledger trial-balance'],
  'GET /books/:mode/account': ['ledger account'],
  'GET /books/:mode/journal': ['ledger journal'],
  'GET /books/:mode/months': ['ledger periods', 'ledger close', 'ledger trial-balance', 'inbox list', 'chain status'],
  'GET /books/:mode/months/:month': CLOSED,
  'GET /books/:mode/months/:month/evidence.json': ['ledger month-statement'],
  'GET /canaries': ['canary history'],
  'GET /chains': ['chain status', 'chain coverage'],
  'GET /deliveries': ['webhook deliveries', 'status'],
  'GET /m/:merchant': [...LISTED, ...DELIVERIES],
  'GET /m/:merchant/keys': ['key list'],
  'GET /m/:merchant/links': ['payment-link list'],
  'GET /m/:merchant/links/:link': ['payment-link show'],
  'GET /m/:merchant/links/new': NOTHING,
  'GET /m/:merchant/payments': LISTED,
  'GET /m/:merchant/payments/:payment': [
    ...['GET /api/v1/checkout/sessions/{id}', 'GET /v1/payment/sessions/{id}/timeline', 'session explain'],
    ...['GET /v1/refunds/{id}', ...DELIVERIES],
  ],
  'GET /m/:merchant/requests': ['GET /v1/requests', 'requests'],
  'GET /m/:merchant/requests/:request': ['GET /v1/requests/{id}', 'requests'],
  'GET /m/:merchant/settings': ['merchant show', 'merchant changes', 'GET /v1/merchant'],
  'GET /m/:merchant/statement': ['ledger settlement', 'GET /v1/ledger/settlement'],
  'GET /m/:merchant/statement/:month': [...CLOSED, 'GET /v1/ledger/statements/{month}'],
  'GET /m/:merchant/statement/:month/evidence.json': ['GET /v1/ledger/statements/{month}'],
  'GET /m/:merchant/webhooks': ['webhook list', ...DELIVERIES],
  'GET /m/:merchant/webhooks/:event': ['GET /v1/webhooks/deliveries/{id}'],
  'GET /me': NOTHING,
  'GET /me/zone': NOTHING,
  'GET /merchants': ['merchant list'],
  'GET /people': ['people list'],
  'GET /people/:person': ['people list', 'people actions'],
  'GET /search': NOTHING,
  'GET /service': ['status'],
  'GET /treasury': ['treasury status', 'treasury moves', 'treasury outflows'],
  'GET /treasury/balances': ['treasury balances', 'ledger trial-balance'],
  'GET /treasury/sweeps': ['treasury sweep', 'ledger rates'],
  'GET /unmatched': ['inbox list'],
  'GET /unmatched/:transfer': ['inbox show'],
  'POST /adjustments/approve': ['ledger approve-adjustment'],
  'POST /adjustments/propose': ['ledger adjust'],
  'POST /adjustments/reject': ['ledger reject-adjustment'],
  'POST /adjustments/reverse': ['ledger adjust'],
  'POST /books/:mode/months': ['ledger close'],
  'POST /books/:mode/months/:month/statements': ['ledger statements'],
  'POST /chains/rescan': ['chain rescan'],
  'POST /m/:merchant/keys': ['key issue'],
  'POST /m/:merchant/keys/revoke': ['key revoke'],
  'POST /m/:merchant/links': ['payment-link create'],
  'POST /m/:merchant/links/:link/off': ['payment-link off'],
  'POST /m/:merchant/links/new': ['POST /api/v1/checkout/sessions/create'],
  'POST /m/:merchant/payments/:payment/cancel': ['POST /api/v1/checkout/sessions/{id}/cancel'],
  'POST /m/:merchant/payments/:payment/refund': ['POST /v1/refunds'],
  'POST /m/:merchant/settings': ['merchant set-policy'],
  'POST /m/:merchant/settings/changes/withdraw': ['merchant withdraw-change'],
  'POST /m/:merchant/settings/domains': ['merchant add-domain'],
  'POST /m/:merchant/settings/domains/remove': ['merchant remove-domain'],
  'POST /m/:merchant/settings/logo': ['merchant set-logo'],
  'POST /m/:merchant/webhooks/:event/redeliver': ['POST /v1/webhooks/deliveries/{id}/redeliver', 'webhook replay'],
  'POST /m/:merchant/webhooks/endpoint': ['webhook set'],
  'POST /m/:merchant/webhooks/replay': ['webhook replay', 'POST /v1/webhooks/replay'],
  'POST /m/:merchant/webhooks/sample': ['POST /v1/webhooks/test'],
  'POST /m/:merchant/webhooks/secret': ['webhook rotate'],
  'POST /me/passkeys': ['people link'],
  'POST /me/passkeys/remove': NOTHING,
  'POST /me/recovery/refuse': NOTHING,
  'POST /me/sign-out': NOTHING,
  'POST /merchants': ['merchant create'],
  'POST /people': ['people invite'],
  'POST /people/:person/link': ['people link'],
  'POST /people/:person/recover': ['people link'],
  'POST /people/:person/reinstate': ['people reinstate'],
  'POST /people/:person/roles': ['people roles'],
  'POST /people/:person/suspend': ['people suspend'],
  'POST /service/rebuild': ['projection rebuild'],
  'POST /treasury/acknowledge': ['treasury acknowledge'],
  'POST /treasury/approve': ['treasury approve'],
  'POST /treasury/compare': ['treasury reconcile'],
  'POST /treasury/limits': ['treasury limits'],
  'POST /treasury/reject': ['treasury reject'],
  'POST /treasury/resume': ['treasury resume'],
  'POST /treasury/return': ['treasury return'],
  'POST /treasury/settle': ['treasury settle'],
  'POST /treasury/settlement-address': ['merchant settlement-address'],
  'POST /treasury/stop': ['treasury stop'],
  'POST /treasury/sweeps': ['treasury sweep'],
  'POST /treasury/withdraw': ['treasury withdraw'],
  'POST /unmatched/:transfer/attach': ['inbox attach'],
  'POST /unmatched/:transfer/return': ['inbox return'],
  'POST /unmatched/:transfer/undo': ['inbox undo'],
};

let server: TestServer;
const there = new Set<string>(ALWAYS_JSON);

function collect(command: Command, words: readonly string[]): void {
  for (const each of command.commands) collect(each, [...words, each.name()]);
  if (command.options.some(({ long }) => long === '--json')) there.add(words.join(' '));
}

beforeAll(async () => {
  collect(createProgram({} as CliHost), []);
  server = await startTestServer(ALL_PARTS);
  const document = (await (await fetch(`${server.base}/openapi.json`)).json()) as { paths: Record<string, object> };
  for (const [path, methods] of Object.entries(document.paths))
    for (const method of Object.keys(methods)) there.add(`${method.toUpperCase()} ${path}`);
});
afterAll(() => server.close());

it('names for every page and every change of the console what programs call instead', () => {
  const addresses = Object.values(ROUTES)
    .flat()
    .filter((address) => !address.endsWith('.csv'));
  expect(Object.keys(BESIDE).toSorted()).toEqual(addresses.toSorted());
});

it.each(Object.entries(BESIDE).filter(([, calls]) => calls.length > 0))('%s: %j', (_, calls) => {
  expect(calls.filter((call) => !there.has(call))).toEqual([]);
});
