import type { Family } from '../../../src/adapters/rpc/dialects.ts';
import dialects from '../../fixtures/chains/dialects.json' with { type: 'json' };
import type { HttpAnswer, HttpServer } from '../edges/http.ts';
import type { Prng } from '../time/prng.ts';
import type { SimulatedChain } from './simulated-chain.ts';

/** What a provider does wrong at the moment; rates are parts of its answers. */
export interface ProviderFaults {
  lagMs: number;
  /** Asks another machine behind the same name, which is some blocks behind. */
  otherMachine: number;
  isSilent: boolean;
  /** Answers 503. */
  isDown: boolean;
  /** Answers 429. */
  rateLimited: number;
  /** Closes the connection. */
  resets: number;
  /** Answers null where there is something. */
  nulls: number;
  /** Leaves logs out of its index. */
  omits: number;
  /** Takes a transaction and says that it failed, or says that it took it and forgets it. */
  broadcastLies: number;
  /** Something that is not JSON, an answer that lacks what one has, or a refusal in the words of a real provider. */
  garbage: number;
}

export const SOUND: Readonly<ProviderFaults> = {
  lagMs: 0,
  otherMachine: 0,
  isSilent: false,
  isDown: false,
  rateLimited: 0,
  resets: 0,
  nulls: 0,
  omits: 0,
  broadcastLies: 0,
  garbage: 0,
};

/** The method of JSON-RPC, or the path. */
const callOf = ({ path, body }: Parameters<HttpServer>[0]): string => /"method":"(\w+)"/.exec(body)?.[1] ?? path;

/** What says nothing about money: neither that a contract refuses, nor what became of a transaction, nor for a day. */
const HARMLESS = ['too-wide', 'slow-down', 'behind', 'not-ready', 'not-kept', 'cannot', 'unknown'];
const RPC_LACKING = ['<html>', '', '{}', '[]', '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"2.0","id":1,"result":{}}'];
/** On TRON `{}` says that there is none. The last one is a call that a busy node broke off. */
const TRON_LACKING = ['<html>', '', '{"result":{"code":"OTHER_ERROR","message":"4350552074696d656f7574"}}'];

const nonsenseOf = (family: Family): readonly HttpAnswer[] => [
  ...(family === 'tron' ? TRON_LACKING : RPC_LACKING).map((body) => ({ status: 200, body })),
  ...dialects
    .filter(({ network, means }) => network === family && HARMLESS.includes(means))
    .map(({ status, answer }) => ({ status, body: typeof answer === 'string' ? answer : JSON.stringify(answer) })),
];
const NONSENSE: Readonly<Record<Family, readonly HttpAnswer[]>> = {
  evm: nonsenseOf('evm'),
  solana: nonsenseOf('solana'),
  tron: nonsenseOf('tron'),
};

/** How far machines behind one name are apart at most; what decides by an absence allows for a minute. */
const OTHER_MACHINE_MS = 40_000;

/** One HTTP server in front of a chain. */
export abstract class SimulatedProvider<Chain extends SimulatedChain = SimulatedChain> {
  readonly chain: Chain;
  protected abstract readonly family: Family;
  readonly faults: ProviderFaults = { ...SOUND };
  protected readonly prng: Prng;

  constructor(chain: Chain, prng: Prng) {
    this.chain = chain;
    this.prng = prng;
  }

  /** What it would say if nothing were wrong with its machine; JSON. */
  protected abstract answer(request: Parameters<HttpServer>[0]): object;

  serve(request: Parameters<HttpServer>[0]): HttpAnswer {
    const { faults } = this;
    for (const listener of this.chain.onAsked) listener(callOf(request), this);
    if (faults.isSilent) return 'silent';
    if (faults.isDown) return { status: 503, body: 'no' };
    if (this.prng.chance(faults.resets)) return 'reset';
    if (this.prng.chance(faults.rateLimited)) return { status: 429, body: '{}', headers: { 'retry-after': '2' } };
    if (this.prng.chance(faults.garbage)) return this.prng.pick(NONSENSE[this.family]);
    return { status: 200, body: JSON.stringify(this.answer(request)) };
  }

  /** The chain as the machine sees it that answers this time. */
  protected view(): ReturnType<Chain['viewBefore']> {
    const { lagMs, otherMachine } = this.faults;
    const isOther = otherMachine > 0 && this.prng.chance(otherMachine);
    return this.chain.viewBefore(isOther ? lagMs + this.prng.between(1, OTHER_MACHINE_MS) : lagMs) as ReturnType<
      Chain['viewBefore']
    >;
  }

  /** Whether it answers null this time. */
  protected isNull(): boolean {
    return this.prng.chance(this.faults.nulls);
  }

  /** What it does to a transaction that is handed in: `hides` it and says that it took it, or `denies` that it did. */
  protected broadcastLie(): 'hides' | 'denies' | null {
    if (!this.prng.chance(this.faults.broadcastLies)) return null;
    return this.prng.chance(0.5) ? 'hides' : 'denies';
  }
}
