import { rpcErrorOf, type Family } from '../../src/adapters/rpc/dialects.ts';
import type { RpcProvider } from '../../src/ports/chain/rpc-pool.ts';

/** A refusal of a node in its words. */
export class Refuses {
  readonly message: string;
  readonly code: number;

  constructor(message: string, code = -32_000) {
    this.message = message;
    this.code = code;
  }
}

type Answers = Readonly<Record<string, unknown>>;

/** A provider that gives each call its answer; a function gets the parameters. Without an answer it is null. */
export function answeringProvider(
  answers: Answers,
  { name = 'one', family = 'evm' }: { readonly name?: string; readonly family?: Family } = {},
): RpcProvider {
  const notAsked = (): Promise<unknown> => Promise.reject(new Error('no JSON-RPC'));
  const call = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const given = answers[method] ?? null;
    const answer: unknown =
      typeof given === 'function' ? (given as (...asked: unknown[]) => unknown)(...params) : given;
    if (answer instanceof Refuses) throw rpcErrorOf({ family, method, code: answer.code, text: answer.message });
    return answer;
  };
  return { name, call, post: notAsked, get: notAsked, report: () => undefined };
}
