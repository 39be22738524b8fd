import { down, lying } from '../support/fault-proxy.ts';
import { eventually } from '../support/running-sandbox.ts';
import type { Drill } from './drill.ts';
import type { DrillWorld } from './drill-world.ts';

/* What holds money out up; all of it on BSC, but for gas and the comparison of the books. */

const COIN_WEI = 10n ** 18n;

async function refund(world: DrillWorld, sessionId: string, value: string): Promise<string> {
  const { status, json } = await world.call('POST', '/v1/refunds', {
    session_id: sessionId,
    amount: { value, currency: 'USDT' },
  });
  if (status !== 200) throw new Error(`a refund was answered ${status} ${json.error?.code}`);
  return String(json.id);
}

const isCompleted = async (world: DrillWorld, id: string): Promise<boolean> =>
  (await world.call('GET', `/v1/refunds/${id}`)).json.status === 'COMPLETED';

/** The drill's treasury begins with 1,500 USDT and owes more than it has after the second refund. */
export const treasuryEmpty: Drill = {
  alerts: ['TreasuryBalanceLow', 'RefundsHeldUp', 'RefundStuck'],
  fault: 'refunds use up what the treasury holds, and it cannot cover the next one',
  cause: async (world) => {
    const session = await world.paidOrder('bsc', '2000.00');
    const first = await refund(world, session.id, '600');
    await eventually('the first refund', () => isCompleted(world, first), 60_000);
    await refund(world, session.id, '1400');
  },
  end: ({ bsc, node: { facts } }) => bsc.fund(facts.treasury, 1_000_000n, 10n * COIN_WEI),
};

export const gasLow: Drill = {
  alerts: ['TreasuryGasLow'],
  fault: 'the treasury has 0.01 ETH left for fees',
  cause: ({ ethereum, node: { facts } }) => ethereum.fund(facts.treasury, 0n, COIN_WEI / 100n),
  end: ({ ethereum, node: { facts } }) => ethereum.fund(facts.treasury, 0n, 10n * COIN_WEI),
};

export const tokenPaused: Drill = {
  alerts: ['RefundsFailed'],
  fault: 'the issuer pauses the coin while a refund is requested',
  cause: async (world) => {
    const session = await world.paidOrder('bsc');
    await world.bsc.node.send('USDT', 'pause', []);
    await new Promise((done) => setTimeout(done, 1_500));
    await refund(world, session.id, '5');
  },
  end: ({ bsc }) => bsc.node.send('USDT', 'unpause', []),
};

export const sequenceAhead: Drill = {
  alerts: ['TreasuryStandsStill'],
  fault: 'the chain shows more transactions of the treasury than the event log',
  cause: async (world) => {
    const session = await world.paidOrder('bsc');
    world.bsc.payouts.play(
      lying('eth_getTransactionCount', (count: string) => `0x${(Number(count) + 5).toString(16)}`),
    );
    await refund(world, session.id, '5');
  },
  end: async ({ bsc }) => bsc.heal(),
};

export const signerKilled: Drill = {
  alerts: ['TreasuryStandsStill', 'SignerSilent'],
  fault: 'the signer is killed; only a restart brings it back',
  cause: async (world) => {
    const session = await world.paidOrder('bsc');
    process.kill(world.node.facts.signer_pid, 'SIGKILL');
    await refund(world, session.id, '5');
  },
  end: (world) => world.restart(),
};

const reconcile = (world: DrillWorld): Promise<unknown> =>
  world.admin('treasury.reconcile', { network: 'ethereum' }).catch(() => undefined);

export const booksNotCompared: Drill = {
  alerts: ['BooksNotCompared'],
  fault: 'the provider that payouts go over is down while the books are compared with the chain',
  cause: async ({ ethereum }) => ethereum.payouts.play(down()),
  during: reconcile,
  end: async ({ ethereum }) => ethereum.heal(),
  after: reconcile,
};

export const payoutProviderDown: Drill = {
  alerts: ['RefundsHeldUp'],
  fault: 'the provider used for payouts is down',
  cause: async (world) => {
    const session = await world.paidOrder('bsc');
    world.bsc.payouts.play(down());
    await refund(world, session.id, '5');
  },
  end: async ({ bsc }) => bsc.heal(),
};
