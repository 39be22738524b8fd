import { TOKENS } from '../networks.ts';
import type { World } from '../world.ts';
import { least } from '../chain/simulated-chain.ts';
import { arrivedIn, legsOf, type SeenSession } from './sessions.ts';
import { isSettled, settledIn } from './settled.ts';
import type { Fact } from './truth.ts';

/* Rows of the read side, by the names that they are documented by (docs/ledger.md). */
const BALANCES = 'ledger-balances@1';
const SUMS = 'ledger-sums@1';
const SESSIONS = 'session-view@';

const COINS = ['USDT', 'USDC'] as const;
/** By its name in the books. */
const NATIVE = {
  ethereum: { coin: 'ETH', decimals: 18 },
  bsc: { coin: 'BNB', decimals: 18 },
  tron: { coin: 'TRX', decimals: 6 },
  solana: { coin: 'SOL', decimals: 9 },
} as const;

/** Units of the last decimal, also below zero. */
const unitsOf = (amount: unknown, decimals = 6): bigint => {
  const [, sign, whole, part = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(amount))!;
  const units = BigInt(whole! + part.padEnd(decimals, '0').slice(0, decimals));
  return sign === '-' ? -units : units;
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The books hold what the chains hold, and debits are credits. */
export function judgeBooks(world: World, sessions: readonly SeenSession[], facts: readonly Fact[]): string[] {
  const { tables } = world.disk.rowsOf(0);
  const faults: string[] = [];
  for (const [key, row] of tables.get(SUMS) ?? []) {
    if (Number(row['sum']) !== 0) faults.push(`debits and credits of ${key} differ by ${textOf(row['sum'])}`);
  }
  const addresses = new Set(sessions.flatMap((session) => [...session.addresses]));
  for (const [network, { chain }] of world.chains)
    for (const coin of COINS) {
      const onChain = [...addresses].reduce(
        (sum, address) => sum + chain.valueAt(`${TOKENS[network][coin]}/${address}`, chain.view),
        0n,
      );
      const booked = unitsOf(
        tables.get(BALANCES)?.get(`test/assets:deposit-wallets/${network}/${coin}`)?.['balance'] ?? '0',
      );
      if (onChain !== booked)
        faults.push(
          `the addresses given out hold ${onChain} units of ${coin} on ${network}, and the books say ${booked}`,
        );
    }
  return [
    ...faults,
    ...judgeMerchants(world, sessions, facts),
    ...judgeTreasuries(world, facts),
    ...judgeStatuses(world, sessions),
  ];
}

/**
 * The books owe a merchant what came for it and did not go back, and nothing of it is reserved once all refunds have
 * ended. A merchant who refunded nothing has been paid what its paid orders are due. What operators set aside is left out.
 */
function judgeMerchants(world: World, sessions: readonly SeenSession[], facts: readonly Fact[]): string[] {
  if (facts.some(({ type }) => type === 'DepositSetAside')) return [];
  const balances = world.disk.rowsOf(0).tables.get(BALANCES);
  const networks = [...world.chains.keys()];
  const sum = (units: readonly bigint[]): bigint => units.reduce((total, each) => total + each, 0n);
  const own = Map.groupBy(sessions, ({ created }) => String(created['merchantId']));
  return [...own].flatMap(([merchant, ofMerchant]) =>
    COINS.flatMap((coin) => {
      const owed = (account: string): bigint => {
        const key = `test/liabilities:merchants:${merchant}:${account}`;
        return -sum(networks.map((network) => unitsOf(balances?.get(`${key}/${network}/${coin}`)?.['balance'] ?? '0')));
      };
      const came = ofMerchant
        .flatMap(({ deposits }) => [...deposits.values()])
        .filter((each) => each.coin === coin && !each.isOwn);
      const settled = settledIn(facts, merchant, coin);
      const mayWait = ofMerchant.some((session) => isSettled(facts, session));
      const legs = legsOf(ofMerchant).filter(({ leg }) => leg.coin === coin && leg.status === 'landed');
      const arrived = sum(came.map(({ status, units }) => (status === 'confirmed' ? units : 0n)));
      const left = arrived - settled - sum(legs.map(({ leg }) => leg.units));
      const [payable, unapplied, reserved] = [owed('payable'), owed('unapplied'), owed('refunds-reserved')];
      const hasRefunded = ofMerchant.some(({ refunds }) => refunds.size > 0);
      const paid = ofMerchant.filter((session) => session.status === 'paid' && session.coin === coin);
      const due = sum(paid.map((session) => least(session.due, arrivedIn(session))));
      return [
        ...(payable + unapplied + reserved === left
          ? []
          : [`${merchant} has ${left} units of ${coin}, and the books say ${payable + unapplied + reserved}`]),
        ...(reserved === 0n || mayWait
          ? []
          : [`${reserved} units of ${coin} of ${merchant} stay reserved, and every refund has ended`]),
        ...(hasRefunded || payable === due - settled
          ? []
          : [`${merchant} is due ${due - settled} units of ${coin}, and the books say ${payable}`]),
      ];
    }),
  );
}

/** The books of a treasury hold no more than its account, in every coin. */
function judgeTreasuries(world: World, facts: readonly Fact[]): string[] {
  if (!facts.some(({ type }) => type === 'TreasuryReconciled')) return [];
  const balances = world.disk.rowsOf(0).tables.get(BALANCES);
  return [...world.chains].flatMap(([network, { chain, treasury }]) => {
    const native = { ...NATIVE[network], asset: 'native' };
    const assets = [native, ...COINS.map((coin) => ({ coin, decimals: 6, asset: TOKENS[network][coin] }))];
    return assets.flatMap(({ coin, decimals, asset }) => {
      const booked = balances?.get(`test/assets:treasury/${network}/${coin}`)?.['balance'];
      const held = chain.valueAt(`${asset}/${treasury}`, chain.view);
      return booked !== undefined && unitsOf(booked, decimals) > held
        ? [`the treasury holds ${held} units of ${coin} on ${network}, and the books say ${textOf(booked)}`]
        : [];
    });
  });
}

/** Look-ups say of each session what its events say. */
function judgeStatuses(world: World, sessions: readonly SeenSession[]): string[] {
  const table = [...world.disk.rowsOf(0).tables].find(([name]) => name.startsWith(SESSIONS))?.[1];
  if (!table) return [];
  return sessions.flatMap(({ sessionId, status }) => {
    const shown = [...table].find(([key]) => key.includes(sessionId))?.[1]['status'];
    const isRight = shown === status || (status === 'open' && shown === 'processing');
    return shown !== undefined && !isRight ? [`${sessionId} is ${status} and shown as ${textOf(shown)}`] : [];
  });
}
