import { describe, expect, it } from 'vitest';
import { base58, fromBase58 } from '../../src/chain-formats/base58.ts';
import { answerCorrected } from '../../src/sandbox/surfpool/rpc-corrections.ts';
import { agaveAnswer } from '../support/recorded-solana.ts';
import { replyOf, solanaNodeState, tokenAccountData } from '../support/solana-node.ts';
import { openNetwork } from '../simulation/networks.ts';
import { Prng } from '../simulation/time/prng.ts';
import { Scheduler } from '../simulation/time/scheduler.ts';

/* What stands for a Solana node in tests answers in the forms of Agave 4.0.0, refusals included. */

type Answer = { readonly result?: unknown; readonly error?: { readonly code: number; readonly message: string } };
interface Double {
  readonly name: string;
  ask(method: string, params: readonly unknown[]): Promise<Answer>;
  /** Its newest slot. */
  readonly slot: number;
}

const ACCOUNT = base58(Buffer.alloc(32, 7));
const NOBODYS = base58(Buffer.alloc(64, 1));

const state = solanaNodeState(5_000, 4_968);
state.accounts.set(ACCOUNT, tokenAccountData(fromBase58(ACCOUNT)!, fromBase58(ACCOUNT)!, 5n));
const played: Double = {
  name: 'the played node',
  ask: async (method, params) => replyOf(state, { method, params }) as Answer,
  slot: 5_000,
};

function simulated(): Double {
  const prng = new Prng('forms');
  const { providers } = openNetwork('solana', 1, { scheduler: new Scheduler(0), prng });
  const provider = providers[0]!;
  const ask = async (method: string, params: readonly unknown[]): Promise<Answer> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const said = provider.serve({ body } as Parameters<typeof provider.serve>[0]) as { body: string };
    return JSON.parse(said.body) as Answer;
  };
  return { name: 'the simulated provider', ask, slot: 0 };
}

/** In front of a Surfpool that knows nothing. */
const sandbox: Double = {
  name: "the sandbox's corrections",
  slot: 31,
  ask: async (method, params) => {
    const upstream = Object.assign(
      async ({ id, method: of }: { id?: unknown; method?: string }) => {
        const result =
          of === 'getSlot' ? 31 : of === 'getSignatureStatuses' ? { context: { slot: 31 }, value: [null] } : [];
        return { jsonrpc: '2.0' as const, id, result };
      },
      { genesis: 'genesis' },
    );
    return answerCorrected({ id: 1, method, params }, upstream);
  },
};

/** Numbers and names differ from chain to chain. */
const worded = (text: string): string => text.replace(/[1-9A-HJ-NP-Za-km-z]{43,90}/g, 'X').replace(/\d+/g, 'N');

const ahead = (double: Double): number => double.slot + 1_000;
const refusals: readonly (readonly [file: string, doubles: string, asks: (double: Double) => [string, unknown[]]])[] = [
  [
    'getSignaturesForAddress-unknown-until',
    'all',
    () => ['getSignaturesForAddress', [ACCOUNT, { until: NOBODYS, limit: 3 }]],
  ],
  ['getSignaturesForAddress-limit-1001', 'models', () => ['getSignaturesForAddress', [ACCOUNT, { limit: 1_001 }]]],
  [
    'minContextSlot-ahead-getSignaturesForAddress',
    'all',
    (double) => ['getSignaturesForAddress', [ACCOUNT, { minContextSlot: ahead(double), commitment: 'confirmed' }]],
  ],
  [
    'minContextSlot-ahead-getMultipleAccounts',
    'all',
    (double) => ['getMultipleAccounts', [[ACCOUNT], { minContextSlot: ahead(double), commitment: 'confirmed' }]],
  ],
  ['getMultipleAccounts-101', 'models', () => ['getMultipleAccounts', [Array(101).fill(ACCOUNT), {}]]],
  [
    'getBlock-ahead-5',
    'all',
    (double) => ['getBlock', [ahead(double), { commitment: 'confirmed', transactionDetails: 'none' }]],
  ],
  ['method-unknown', 'played', () => ['getNothing', []]],
];

describe.each([played, simulated(), sandbox])('$name', (double) => {
  const isMeant = (doubles: string): boolean =>
    doubles === 'all' || double === played || (doubles === 'models' && double !== sandbox);

  it.each(refusals.filter(([, doubles]) => isMeant(doubles)))('refuses as in %s', async (file, _, asks) => {
    const { answer } = agaveAnswer(file) as { answer: Required<Answer> };
    const { error } = await double.ask(...asks(double));
    expect(error && { code: error.code, message: worded(error.message) }).toEqual({
      code: answer.error.code,
      message: worded(answer.error.message),
    });
  });
});

describe('answers of the played node and of the simulated provider', () => {
  /** Each field of the double's answer, with its type, is one of the real answer. */
  function expectForm(said: unknown, real: unknown, at: string): void {
    if (said === null || real === null || typeof said !== 'object') {
      if (said !== null && real !== null) expect(typeof said, at).toBe(typeof real);
      return;
    }
    if (Array.isArray(said)) {
      expect(Array.isArray(real), at).toBe(true);
      said.forEach((one, index) => {
        expectForm(
          one,
          (real as unknown[])[Math.min(index, (real as unknown[]).length - 1)] ?? null,
          `${at}[${index}]`,
        );
      });
      return;
    }
    for (const [key, value] of Object.entries(said)) {
      expect(Object.keys(real as object), at).toContain(key);
      expectForm(value, (real as Record<string, unknown>)[key], `${at}.${key}`);
    }
  }

  it.each([
    ['getAccountInfo-token-jsonParsed', 'getAccountInfo', [ACCOUNT, { encoding: 'jsonParsed' }]],
    ['getSignatureStatuses-unknown', 'getSignatureStatuses', [[NOBODYS], { searchTransactionHistory: true }]],
    ['getTransaction-unknown', 'getTransaction', [NOBODYS, { maxSupportedTransactionVersion: 1 }]],
  ] as const)('have the form of %s', async (file, method, params) => {
    const { answer } = agaveAnswer(file) as { answer: Answer };
    for (const double of [played, simulated()]) {
      const { result } = await double.ask(method, params);
      expectForm(result, answer.result, double.name);
    }
  });

  it('have no block where the node deleted it', async () => {
    const { answer } = agaveAnswer('getBlock-1') as { answer: Required<Answer> };
    const { error } = replyOf({ ...state, firstKeptSlot: 1_544 }, { method: 'getBlock', params: [1, {}] }) as Answer;
    expect(error).toEqual(answer.error);
  });
});
