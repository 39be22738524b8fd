import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSignerProcess, type SignerProcess } from '../../src/adapters/signer/process.ts';
import type { JournalPlace, TransactionDraft } from '../../src/domain/events/transaction-draft.ts';
import { amountOf, formatAmount } from '../../src/domain/money/money.ts';
import type { NativeLimits } from '../../src/domain/networks/native-limits.ts';
import { silentLog } from '../../src/ports/log.ts';
import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { outgoing } from '../support/outgoing.ts';
import { startEvmBalancesNode, SWEEP_GAS, TIP_WEI, type EvmBalancesNode } from '../support/evm-balances-node.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The real signer over its socket, asked by a worker that somebody took over; the node is the signer's own. */

const MNEMONIC = 'test test test test test test test test test test test junk';
const wallet = new Wallet(MNEMONIC);
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const GWEI = 10n ** 9n;

let directory: string;
let node: EvmBalancesNode;
let signer: SignerProcess;
let logPlace: JournalPlace | null;
let nonce: number;

beforeEach(async () => {
  directory = temporaryFolder('signer-native');
  node = await startEvmBalancesNode();
  logPlace = null;
  nonce = 0;
});
afterEach(async () => {
  await signer.close();
  await node.close();
});

async function start(limits: Partial<NativeLimits> = {}): Promise<void> {
  signer = await startSignerProcess({
    directory,
    wallets: { test: { kind: 'mnemonic', mnemonic: MNEMONIC } },
    payouts: {
      journalDirectory: join(directory, 'journal'),
      networks: [
        {
          mode: 'test',
          network: 'ethereum',
          chainId: '31337',
          tokens: [{ coin: 'USDT', address: TOKEN, decimals: 6 }],
          urls: [node.url, node.url],
        },
      ],
      limits: {},
      payoutsPerHour: 100,
      nativeLimits: { ethereum: limits },
      approvers: [],
    },
    log: silentLog,
  });
}

const addressAt = (index: number): string => wallet.collectionAddress('evm', index);
const shared = { network: 'ethereum' } as const;

function topUp(index: number, amount: string): OutgoingTransaction {
  const ends = { fromAddress: wallet.treasury.evm, toAddress: addressAt(index), derivationIndex: index };
  return outgoing({ ...shared, ...ends, kind: 'gas_top_up', id: `top_${nonce}`, coin: 'ETH', amount });
}

const fees = (gwei: bigint, tip = 1n) => ({
  maxFeePerGas: (gwei * GWEI).toString(),
  maxPriorityFeePerGas: (tip * GWEI).toString(),
});

async function sign(
  order: OutgoingTransaction,
  change: Partial<Extract<TransactionDraft, { kind: 'evm-native' }>> = {},
) {
  const value = amountOf(order.amount).toString();
  const draft: TransactionDraft = {
    kind: 'evm-native',
    chainId: '31337',
    nonce,
    value,
    gasLimit: '21000',
    ...fees(20n),
    ...change,
  };
  return kept(await signer.sign({ order, attempt: 1, draft, logPlace }));
}

async function sweep(index: number) {
  const ends = { fromAddress: addressAt(index), toAddress: wallet.treasury.evm, derivationIndex: index };
  const order = outgoing({ ...shared, ...ends, kind: 'sweep', id: `swp_${nonce}`, coin: 'USDT', amount: '1' });
  const token = { tokenAddress: TOKEN, tokenUnits: '1000000', gasLimit: '60000' };
  return kept(
    await signer.sign({
      order,
      attempt: 1,
      draft: { kind: 'evm', chainId: '31337', nonce: 0, ...token, ...fees(20n) },
      logPlace,
    }),
  );
}

function kept<Answer extends Awaited<ReturnType<SignerProcess['sign']>>>(answer: Answer): Answer {
  if (answer.ok) {
    logPlace = answer.journal;
    nonce += 1;
  }
  return answer;
}

const neededNow = (): bigint => SWEEP_GAS * (2n * node.baseFeeWei + TIP_WEI);

describe('gas for sweeps', () => {
  it('is not strewn over addresses that nobody paid to', async () => {
    await start();
    for (let index = 0; index < 60; index += 1)
      expect(await sign(topUp(index, '0.001'))).toMatchObject({ kind: 'later', code: 'nothing_to_sweep' });
    expect((await signer.status('test')).entries).toBe(0);
  });

  it('is sent only where the signer sees tokens, and no more than their sweep needs now', async () => {
    await start();
    node.tokens.set(addressAt(3), 5_000_000n);
    expect(await sign(topUp(3, formatAmount(3n * neededNow())))).toMatchObject({ ok: false, code: 'more_than_needed' });
    node.native.set(addressAt(3), 2n * neededNow());
    expect(await sign(topUp(3, formatAmount(neededNow())))).toMatchObject({ ok: false, code: 'more_than_needed' });
    node.native.clear();
    expect(await sign(topUp(3, formatAmount((3n * neededNow()) / 2n)))).toMatchObject({ ok: true });
  });

  it('is not given again before a sweep that spends it is in the chain', async () => {
    await start();
    node.tokens.set(addressAt(3), 5_000_000n);
    expect(await sign(topUp(3, formatAmount(neededNow())))).toMatchObject({ ok: true });
    for (let tries = 0; tries < 3; tries += 1)
      expect(await sign(topUp(3, '0.0001'))).toMatchObject({ ok: false, code: 'velocity' });
    const swept = await sweep(3);
    if (!swept.ok) throw new Error(swept.message);
    expect(await sign(topUp(3, '0.0001')), 'the sweep is signed but nowhere').toMatchObject({
      ok: false,
      code: 'velocity',
    });
    node.sent.set(addressAt(3), 1n);
    expect(await sign(topUp(3, formatAmount(neededNow())))).toMatchObject({ ok: true });
  });

  it('goes in a plain transfer, at a price within the ceilings', async () => {
    await start({ maxGasPriceGwei: '40', maxPriorityFeeGwei: '3' });
    node.tokens.set(addressAt(3), 5_000_000n);
    const order = topUp(3, formatAmount(neededNow()));
    expect(await sign(order, { gasLimit: '21001' })).toMatchObject({ ok: false, code: 'wrong_draft' });
    expect(await sign(order, fees(41n))).toMatchObject({ ok: false, kind: 'later', code: 'network_fee_too_high' });
    expect(await sign(order, fees(40n, 4n))).toMatchObject({ ok: false, kind: 'later', code: 'network_fee_too_high' });
    expect(await sign(order, fees(2n, 3n))).toMatchObject({ ok: false, code: 'wrong_draft' });
    expect(await sign(order, fees(40n, 3n))).toMatchObject({ ok: true });
  });

  it('is never more than the ceiling of the gas price can burn, whatever price a provider claims', async () => {
    await start({ maxGasPriceGwei: '40' });
    node.tokens.set(addressAt(3), 5_000_000n);
    node.baseFeeWei = 1_000n * GWEI;
    const most = (SWEEP_GAS * 40n * GWEI * 5n) / 2n;
    expect(await sign(topUp(3, formatAmount(most + 1n)))).toMatchObject({ ok: false, code: 'more_than_needed' });
    expect(await sign(topUp(3, formatAmount(most)))).toMatchObject({ ok: true });
  });
});

describe('caps on the native coin', () => {
  it('hold for one transaction, an hour and a day, fees included', async () => {
    const once = amountOf('0.001') + 21_000n * 20n * GWEI;
    await start({ perTransaction: formatAmount(once), perHour: formatAmount(2n * once), perDay: '1' });
    for (const index of [1, 2, 3]) node.tokens.set(addressAt(index), 5_000_000n);
    expect(await sign(topUp(1, '0.001'), fees(21n))).toMatchObject({
      ok: false,
      kind: 'later',
      code: 'native_per_transaction_cap',
    });
    expect(await sign(topUp(1, '0.001'))).toMatchObject({ ok: true });
    expect(await sign(topUp(2, '0.001'))).toMatchObject({ ok: true });
    expect(await sign(topUp(3, '0.0001'))).toMatchObject({ ok: false, kind: 'later', code: 'native_hourly_cap' });
    expect(await signer.check(topUp(3, '0.001'))).toMatchObject({ ok: false, code: 'native_hourly_cap' });
  });

  it('count replacements at one nonce once, at the dearest', async () => {
    const at = (gwei: bigint): bigint => amountOf('0.001') + 21_000n * gwei * GWEI;
    await start({ perHour: formatAmount(at(40n)), perDay: formatAmount(at(40n)) });
    node.tokens.set(addressAt(1), 5_000_000n);
    const order = topUp(1, '0.001');
    const draft = {
      kind: 'evm-native',
      chainId: '31337',
      nonce: 0,
      value: amountOf('0.001').toString(),
      gasLimit: '21000',
    } as const;
    const first = await signer.sign({ order, attempt: 1, draft: { ...draft, ...fees(20n) }, logPlace });
    if (!first.ok) throw new Error(first.message);
    const dearer = { order, attempt: 2, logPlace: first.journal };
    expect(await signer.sign({ ...dearer, draft: { ...draft, ...fees(41n) } })).toMatchObject({
      ok: false,
      code: 'native_hourly_cap',
    });
    expect(await signer.sign({ ...dearer, draft: { ...draft, ...fees(40n) } })).toMatchObject({ ok: true });
  });
});
