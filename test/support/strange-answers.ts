import fc from 'fast-check';
import { rpcErrorOf, type Family } from '../../src/adapters/rpc/dialects.ts';
import type { RpcProvider } from '../../src/ports/chain/rpc-pool.ts';

/* What a provider may say that nobody has seen yet: refusals in invented words, and answers that lack what one has. */

export type Strange =
  | { readonly kind: 'refusal'; readonly code: number; readonly text: string }
  /** Without one of its fields, wherever in it. */
  | { readonly kind: 'lacking'; readonly pick: number }
  /** Nothing, in one of the ways to say so. */
  | { readonly kind: 'nothing'; readonly said: unknown };

const WORDS = [
  ...['limit', 'limited', 'range', 'blocks', 'block', 'exceeded', 'rate', 'request', 'plan', 'free', 'upgrade', 'to'],
  ...['not', 'available', 'supported', 'found', 'unknown', 'method', 'timeout', 'is', 'the', 'too', 'many', 'large'],
  ...['10000', '101', '2K', '15/second', 'per', 'day', 'history', 'state', 'pruned', 'slot', 'skipped', 'error', '0x1'],
] as const;
const CODES = [
  -32_000, -32_001, -32_005, -32_007, -32_012, -32_016, -32_020, -32_602, -32_603, 3, 35, 429, 4444, 0, -1,
];

const invented = fc.oneof(
  fc.array(fc.constantFrom(...WORDS), { maxLength: 9 }).map((words) => words.join(' ')),
  fc.string({ maxLength: 40 }),
);

export const strange: fc.Arbitrary<Strange> = fc.oneof(
  fc.record({ kind: fc.constant('refusal' as const), code: fc.constantFrom(...CODES), text: invented }),
  fc.record({ kind: fc.constant('lacking' as const), pick: fc.nat(10_000) }),
  fc.record({
    kind: fc.constant('nothing' as const),
    said: fc.constantFrom<unknown>(null, undefined, '', {}, '0x', 0),
  }),
);

/** One for each call, in turn; `null` lets the honest answer through. Once they are used up it is honest. */
export class StrangeProvider implements RpcProvider {
  readonly name: string;
  readonly #honest: RpcProvider;
  readonly #family: Family;
  readonly #left: (Strange | null)[];

  constructor(honest: RpcProvider, family: Family, said: readonly (Strange | null)[]) {
    this.name = honest.name;
    this.#honest = honest;
    this.#family = family;
    this.#left = [...said];
  }

  get isHonest(): boolean {
    return this.#left.length === 0;
  }

  report(): void {}

  call(method: string, params: readonly unknown[]): Promise<unknown> {
    return this.#say(method, () => this.#honest.call(method, params));
  }

  post(path: string, body: unknown): Promise<unknown> {
    return this.#say(path, () => this.#honest.post(path, body));
  }

  get(path: string): Promise<unknown> {
    return this.#say(path, () => this.#honest.get(path));
  }

  async #say(method: string, ask: () => Promise<unknown>): Promise<unknown> {
    const said = this.#left.shift() ?? null;
    return said === null ? ask() : saidInstead(said, this.#family, method, ask);
  }
}

export async function saidInstead(
  said: Strange,
  family: Family,
  method: string,
  ask: () => Promise<unknown>,
): Promise<unknown> {
  if (said.kind === 'nothing') return said.said;
  if (said.kind === 'lacking') return without(await ask(), said.pick);
  throw rpcErrorOf({ family, method, code: said.code, text: said.text });
}

/** A copy without one of its fields; the same where it has none. */
function without(answer: unknown, pick: number): unknown {
  const copy: unknown = structuredClone(answer);
  const fields = [...fieldsIn(copy)];
  const [holder, name] = fields[pick % Math.max(1, fields.length)] ?? [];
  if (holder && name !== undefined) delete holder[name];
  return copy;
}

/** How many fields it has that could be missing. */
export const fieldCount = (answer: unknown): number => [...fieldsIn(answer)].length;

function* fieldsIn(value: unknown): Generator<readonly [Record<string, unknown>, string]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) yield [value as Record<string, unknown>, name];
    yield* fieldsIn(inner);
  }
}
