import { id } from 'ethers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { EvmOutgoing } from '../../src/adapters/evm/outgoing.ts';
import { meaningOf, type Family } from '../../src/adapters/rpc/dialects.ts';
import { SolanaOutgoing } from '../../src/adapters/solana/outgoing.ts';
import { accountOfBase58 } from '../../src/adapters/tron/address.ts';
import { TronOutgoing } from '../../src/adapters/tron/outgoing.ts';
import { nonceAccountOf } from '../../src/chain-formats/solana-nonce.ts';
import { associatedTokenAccount } from '../../src/chain-formats/spl-token.ts';
import { fromBase58 } from '../../src/chain-formats/base58.ts';
import { ChainUnavailable } from '../../src/ports/chain/chain.ts';
import type { RpcProvider } from '../../src/ports/chain/rpc-pool.ts';
import type { OutgoingChain } from '../../src/ports/outgoing/chain.ts';
import {
  NOTHING_RESERVED,
  TransferImpossible,
  type OutgoingTransaction,
} from '../../src/ports/outgoing/transaction.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { answeringProvider } from '../support/answering-provider.ts';
import { localSettings } from '../support/anvil.ts';
import { ModelPool } from '../support/lying-evm.ts';
import { SOLANA_MODEL } from '../support/lying-solana.ts';
import { tronSettings } from '../support/lying-tron.ts';
import { outgoing } from '../support/outgoing.ts';
import { runsOf } from '../support/runs.ts';
import { mintAccount, nonceAccount, replyOf, solanaNodeState, tokenAccountData } from '../support/solana-node.ts';
import { fieldCount, saidInstead, strange, type Strange } from '../support/strange-answers.ts';
import { computed } from '../support/tron-node.ts';
import { withoutPauses } from '../support/without-pauses.ts';

/* Payouts, with a provider that says what nobody has heard yet: they are drawn up by what is known, or not at all. */

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const wallet = new Wallet('test test test test test test test test test test test junk');
const NOW_MS = Date.parse('2026-11-20T00:00:00Z');

/** What the token says of the payout; `ready`: it may be paid. */
type State = 'ready' | 'no gas' | 'paused' | 'refused' | 'payee frozen' | 'treasury frozen';

interface Payouts {
  readonly family: Family;
  readonly orders: readonly OutgoingTransaction[];
  readonly states: readonly State[];
  readonly honestly: (state: State) => RpcProvider;
  readonly over: (provider: RpcProvider) => OutgoingChain;
}

const ordersOf = (network: 'ethereum' | 'tron' | 'solana', coin: 'ETH' | 'TRX' | 'SOL', toAddress: string) => {
  const treasury = { ethereum: wallet.treasury.evm, tron: wallet.treasury.tron, solana: wallet.treasury.solana };
  const order = { id: 're_a-1', network, amount: '5.00', fromAddress: treasury[network], toAddress };
  return [
    outgoing({ ...order, kind: 'refund', coin: 'USDT' }),
    outgoing({ ...order, kind: 'native_return', coin, amount: '0.5' }),
  ];
};
const [onEthereum, onTron, onSolana] = [
  ordersOf('ethereum', 'ETH', wallet.collectionAddress('evm', 3)),
  ordersOf('tron', 'TRX', wallet.collectionAddress('tron', 3)),
  ordersOf('solana', 'SOL', wallet.collectionAddress('solana', 3)),
];
const word = (value: bigint): string => value.toString(16).padStart(64, '0');
const frozenIn = (state: State, [{ fromAddress, toAddress } = onEthereum[0]!]: OutgoingTransaction[]): string | null =>
  state === 'payee frozen' ? toAddress : state === 'treasury frozen' ? fromAddress : null;

function honestEvm(state: State): RpcProvider {
  const selector = (name: string): string => id(name).slice(0, 10);
  const frozen = frozenIn(state, onEthereum);
  const header = {
    ...{ number: '0x10', hash: `0x${word(1n)}`, parentHash: `0x${word(2n)}`, timestamp: '0x1', baseFeePerGas: '0x7' },
  };
  return answeringProvider({
    ...{ eth_chainId: '0x7a69', eth_getBlockByNumber: header, eth_getLogs: [], eth_getTransactionCount: '0x5' },
    ...{
      eth_getBalance: state === 'no gas' ? '0x1' : '0xde0b6b3a7640000',
      eth_estimateGas: '0xd9cb',
      eth_maxPriorityFeePerGas: '0x1',
    },
    eth_call: ({ data }: { data: string }) => {
      if (data.startsWith(selector('decimals()'))) return `0x${word(6n)}`;
      if (data.startsWith(selector('balanceOf(address)'))) return `0x${word(10n ** 9n)}`;
      if (data.startsWith(selector('paused()'))) return `0x${word(state === 'paused' ? 1n : 0n)}`;
      const isFrozen = data.startsWith(selector('isBlackListed(address)')) && frozen !== null;
      return `0x${word(isFrozen && data.endsWith(frozen.slice(2).toLowerCase()) ? 1n : 0n)}`;
    },
  });
}

const TRON = tronSettings(TOKEN);
const REVERTED = {
  result: { result: true, message: Buffer.from('REVERT opcode executed').toString('hex') },
  ...{ energy_used: 886, constant_result: [''], transaction: { ret: [{ ret: 'FAILED' }] } },
};

function honestTron(state: State): RpcProvider {
  const frozen = accountOfBase58(frozenIn(state, onTron) ?? '');
  const block = (number: number): object => ({
    blockID:
      number === 0
        ? BigInt(TRON.chainId).toString(16).padStart(64, '0')
        : number.toString(16).padStart(16, '0').padEnd(64, 'a'),
    block_header: {
      raw_data: number === 0 ? {} : { number, parentHash: 'b'.repeat(64), timestamp: NOW_MS - 3_000 },
    },
  });
  const called = ({ function_selector: name, parameter }: Record<string, string>): object => {
    if (name === 'decimals()') return computed(6);
    if (name === 'balanceOf(address)') return computed(10n ** 9n);
    if (name === 'paused()') return computed(state === 'paused' ? 1 : 0);
    if (name === 'isBlackListed(address)') return computed(frozen && parameter!.endsWith(frozen) ? 1 : 0);
    if (name !== 'transfer(address,uint256)' || state === 'refused') return REVERTED;
    return { ...computed(1), energy_used: 13_201 };
  };
  const answers: Record<string, (body: Record<string, string>) => unknown> = {
    getblock: ({ id_or_num: number = '16' }) => block(Number(number)),
    getnowblock: () => block(16),
    getblockbynum: ({ num }) => block(Number(num)),
    gettransactioninfobyblocknum: () => [],
    triggerconstantcontract: called,
    getaccount: ({ address }) => ({ address, balance: state === 'no gas' ? 1 : 2_000_000_000 }),
    getaccountresource: () => ({ TotalNetLimit: 43_200_000_000, TotalEnergyLimit: 50_000_000_000 }),
    getchainparameters: () => ({ chainParameter: [{ key: 'getEnergyFee', value: 420 }] }),
  };
  return {
    ...answeringProvider({}),
    post: (path, body) => Promise.resolve(answers[path.split('/')[2]!]!(body as Record<string, string>)),
  };
}

function honestSolana(state: State): RpcProvider {
  const node = solanaNodeState(1_000, 992);
  const [mint, treasury] = [SOLANA_MODEL.tokens[0]!.address, wallet.treasury.solana];
  node.accounts.set(mint, mintAccount());
  node.accounts.set(nonceAccountOf(treasury, 0), nonceAccount(treasury, wallet.collectionAddress('solana', 9)));
  for (const owner of [treasury, onSolana[0]!.toAddress]) {
    const [mintBytes, ownerBytes] = [fromBase58(mint)!, fromBase58(owner)!];
    const account = tokenAccountData(mintBytes, ownerBytes, 10n ** 9n, frozenIn(state, onSolana) === owner);
    node.accounts.set(associatedTokenAccount(owner, mint), account);
  }
  const others: Record<string, unknown> = {
    // The fee, and less than the network keeps.
    getBalance: { context: { slot: 1_000 }, value: state === 'no gas' ? 2_500_000 : 505_000_000 },
    getBlockTime: NOW_MS / 1_000,
    getMinimumBalanceForRentExemption: 890_880,
    getRecentPrioritizationFees: [{ slot: 999, prioritizationFee: 5_000 }],
  };
  return {
    ...answeringProvider({}, { family: 'solana' }),
    call: (method, params) => {
      const reply = method in others ? { result: others[method] } : replyOf(node, { method, params });
      return 'result' in reply ? Promise.resolve(reply.result) : Promise.reject(new Error(JSON.stringify(reply)));
    },
  };
}

const PAYOUTS: Readonly<Record<string, Payouts>> = {
  ethereum: {
    ...{ family: 'evm', orders: onEthereum, honestly: honestEvm },
    states: ['ready', 'no gas', 'paused', 'payee frozen', 'treasury frozen'],
    over: (provider) =>
      new EvmOutgoing({
        ...{ settings: localSettings(TOKEN), pool: new ModelPool([provider]), depth: 12, bumpAfterMs: 1 },
        ...{ maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 12n, fallbackTip: 10n ** 9n },
      }),
  },
  tron: {
    ...{ family: 'tron', orders: onTron, honestly: honestTron },
    states: ['ready', 'no gas', 'paused', 'refused', 'payee frozen', 'treasury frozen'],
    over: (provider) => new TronOutgoing({ settings: TRON, pool: new ModelPool([provider]), lifetimeMs: 60_000 }),
  },
  solana: {
    ...{ family: 'solana', orders: onSolana, honestly: honestSolana },
    states: ['ready', 'no gas', 'payee frozen', 'treasury frozen'],
    over: (provider) =>
      new SolanaOutgoing({ settings: SOLANA_MODEL, pool: new ModelPool([provider]), maxPrice: 1_000_000 }),
  },
};

/** What they pay for their place is a wish; and a contract that refuses, or a sender without money, is an answer. */
function isAnswer(said: Strange, family: Family, method: string): boolean {
  if (/^(eth_maxPriorityFeePerGas|getRecentPrioritizationFees)$/.test(method)) return true;
  const meaning = said.kind === 'refusal' ? meaningOf({ family, method, ...said }) : 'unknown';
  return ['reverted', 'no-funds'].includes(meaning);
}

interface Says {
  readonly family: Family;
  readonly said: Strange | null;
  readonly at: number;
  readonly times: number;
}

/** Says it instead of `times` answers, from the one at `at` on. */
class Odd implements RpcProvider {
  readonly name = 'odd';
  /** How many fields each of its answers had, in turn. */
  readonly fields: number[] = [];
  #calls = 0;
  readonly #sound: RpcProvider;
  readonly #says: Says;

  constructor(sound: RpcProvider, says: Says) {
    this.#sound = sound;
    this.#says = says;
  }

  report(): void {}

  call(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.#say(method, () => this.#sound.call(method, params));
  }

  post(path: string, body: unknown): Promise<unknown> {
    return this.#say(path, () => this.#sound.post(path, body, path));
  }

  get(path: string): Promise<unknown> {
    return this.#sound.get(path);
  }

  async #say(method: string, ask: () => Promise<unknown>): Promise<unknown> {
    const { family, said, at, times } = this.#says;
    const call = this.#calls++;
    if (said !== null && call >= at && call < at + times && !isAnswer(said, family, method))
      return saidInstead(said, family, method, ask);
    const answer = await ask();
    this.fields.push(fieldCount(answer));
    return answer;
  }
}

/** What it comes to; a provider's fault is a reason to ask again. */
const verdictOf = <Value>(ask: Promise<Value>) =>
  ask.catch((error: unknown) => {
    if (error instanceof TransferImpossible) return { kind: 'impossible', reason: error.message } as const;
    expect(error).toBeInstanceOf(ChainUnavailable);
    return 'unavailable' as const;
  });
const QUESTIONS = {
  check: (chain: OutgoingChain, order: OutgoingTransaction) => verdictOf(chain.check(order, NOTHING_RESERVED)),
  draft: (chain: OutgoingChain, order: OutgoingTransaction) => verdictOf(chain.draft(order, 5, [])),
} as const;
const kindOf = (verdict: 'unavailable' | { readonly kind: string } | null): string | undefined =>
  verdict === 'unavailable' ? verdict : verdict?.kind;

beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS }));
afterAll(() => void vi.useRealTimers());
withoutPauses();

describe.each(Object.entries(PAYOUTS))('a payout on %s, with a provider in strange words', (_, payouts) => {
  const { family, orders, states, honestly, over } = payouts;

  const known = async () =>
    Promise.all(
      orders.flatMap((order) =>
        states.flatMap((state) =>
          Object.values(QUESTIONS).map(async (ask) => {
            const sound = new Odd(honestly(state), { family, said: null, at: 0, times: 0 });
            return { order, state, ask, verdict: await ask(over(sound), order), fields: sound.fields };
          }),
        ),
      ),
    );
  type Known = Awaited<ReturnType<typeof known>>[number];
  async function mustNotDiffer({ order, state, ask, verdict }: Known, says: Omit<Says, 'family'>): Promise<void> {
    const seen = await ask(over(new Odd(honestly(state), { family, ...says })), order);
    // On TRON an amount that is left out is zero: it waits, and is looked at again.
    if (seen !== 'unavailable' && !(family === 'tron' && kindOf(seen) === 'wait')) expect(seen).toEqual(verdict);
  }

  it('is checked and drawn up by what is known, or not at all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...(await known())), strange, fc.nat(), fc.boolean(), (one, said, at, thrice) =>
        mustNotDiffer(one, { said, at: at % one.fields.length, times: thrice ? 3 : 1 }),
      ),
      { numRuns: runsOf(150) },
    );
  });

  it('is the same, whichever field an answer lacks', async () => {
    // TRON is asked three times for what is no answer.
    const timesAsked = family === 'tron' ? [1, 3] : [1];
    for (const one of await known())
      for (const [at, count] of one.fields.entries())
        for (let pick = 0; pick < count; pick += 1)
          for (const times of timesAsked) await mustNotDiffer(one, { said: { kind: 'lacking', pick }, at, times });
  });

  it.each([...states])('is judged by an honest one: %s', async (state) => {
    const kinds: Partial<Record<State, unknown>> = { ready: 'ready', 'no gas': 'wait', refused: 'impossible' };
    const [refund, native] = [orders[0]!, orders[1]!];
    expect(kindOf(await QUESTIONS.check(over(honestly(state)), refund))).toBe(kinds[state] ?? 'fail');
    expect(kindOf(await QUESTIONS.draft(over(honestly(state)), refund))).toBe(
      state === 'refused' ? 'impossible' : family,
    );
    expect(kindOf(await QUESTIONS.draft(over(honestly(state)), native))).toMatch(family);
  });
});
