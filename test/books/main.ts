/*
 * `npm run test:books`: payments of every kind, refunds, native coin of strangers, sweeps, a settlement and a
 * withdrawal in a sandbox of its own, then its books against themselves, its chains and a program in another language,
 * and its ledger against both verifiers. `npm run test:books -- --data-dir DIR` starts a sandbox on the data another
 * run left behind, such as that of an acceptance, and checks what it finds there.
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { eventually, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';
import { Business, COLD } from './business.ts';
import { checkBooks, commandLine } from './check-books.ts';

/** What is paid of 10.00, and what of it is asked back; null for nothing. */
const ORDERS: readonly { readonly paid: string; readonly refund: string | null }[] = [
  { paid: '10.00', refund: null },
  { paid: '10.00', refund: '3.33' },
  { paid: '10.01', refund: '10.01' },
  { paid: '12.345678', refund: '2.345678' },
  { paid: '4.00', refund: null },
];
const FINAL_MS = 120_000;
const LOOK_MS = 5_000;
const QUIET_LOOKS = 6;

async function payEverything(sandbox: RunningSandbox): Promise<void> {
  const { facts, dataDir } = sandbox;
  const cli = commandLine(dataDir);
  const business = new Business(sandbox, cli);
  const call = business.call.bind(business);
  const paidSessions: [network: string, id: string][] = [];
  await cli('merchant', 'set-policy', facts.merchant.id, '--service-fee', '0.33');
  for (const network of Object.keys(facts.networks)) {
    for (const [index, { paid, refund }] of ORDERS.entries()) {
      const order = { amount: '10.00', currency: 'USDT', order_id: `${network}-${index}` };
      const id = (await call('POST', '/api/v1/checkout/sessions/create', order)).json['id'] as string;
      // Six decimals are more than some coins have here: what fits is paid.
      await cli('sandbox', 'pay', id, '--network', network, '--amount', paid, '--json');
      const isPaid = paid.startsWith('1');
      await eventually(
        `${order.order_id} is final`,
        async () => {
          const { json } = await call('GET', `/api/v1/checkout/sessions/${id}`);
          return isPaid ? json['payment_status'] === 'paid' : json['status'] !== 'open';
        },
        FINAL_MS,
      );
      if (isPaid) paidSessions.push([network, id]);
      if (refund === null) continue;
      const asked = await call('POST', '/v1/refunds', { session_id: id, amount: { value: refund, currency: 'USDT' } });
      if (asked.status !== 200)
        throw new Error(`the refund of ${order.order_id} was refused: ${JSON.stringify(asked.json)}`);
      const refundId = asked.json['id'] as string;
      await eventually(
        `the refund of ${order.order_id} is paid`,
        async () => (await call('GET', `/v1/refunds/${refundId}`)).json['status'] === 'COMPLETED',
        FINAL_MS,
      );
      console.log(`${order.order_id}: ${paid} paid, ${refund} refunded`);
    }
  }
  await business.strays(paidSessions);
  await business.payOut();
}

/** A chain that was killed comes back a moment older than the event log, and gets what it lost a little later. */
async function chainsAreMended(dataDir: string): Promise<void> {
  const balances = (): Promise<string> => commandLine(dataDir)('treasury', 'balances', '--json');
  let before = await balances();
  for (let same = 0; same < QUIET_LOOKS;) {
    await new Promise((wait) => setTimeout(wait, LOOK_MS));
    const now = await balances();
    same = now === before ? same + 1 : 0;
    before = now;
  }
}

const { values } = parseArgs({ options: { 'data-dir': { type: 'string' } } });
const given = values['data-dir'];
const env = { WITHDRAWAL_ADDRESSES: JSON.stringify({ test: { ethereum: [COLD] } }) };
const sandbox = await startRunningSandbox(given === undefined ? { env } : { dataDir: given });
try {
  if (given === undefined) await payEverything(sandbox);
  else await chainsAreMended(sandbox.dataDir);
  const { faults, lines } = await checkBooks(commandLine(sandbox.dataDir));
  console.log(lines.join('\n'));
  for (const fault of faults) console.log(`FAULT: ${fault}`);
  console.log(
    faults.length === 0 ? 'The books are zero to the last unit and equal the chains.' : `${faults.length} faults.`,
  );
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await sandbox.stop();
  if (given === undefined) rmSync(sandbox.dataDir, { recursive: true, force: true });
}
