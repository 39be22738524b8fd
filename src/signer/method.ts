import type { z } from 'zod';
import type { Mode } from '../domain/values/ids.ts';
import type { SignerErrorCode } from '../ports/signer/protocol.ts';
import type { AuditSigner } from './audit/signer.ts';
import type { Outgoing } from './outgoing.ts';
import type { Wallet } from './keys/wallet.ts';

/**
 * A request that the signer refuses. Thrown only between here and `answerRequest`, which turns it into a protocol
 * value.
 */
export class MethodRefused extends Error {
  override readonly name = 'MethodRefused';
  readonly code: SignerErrorCode;
  constructor(code: SignerErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Everything a method may use. */
export interface SignerContext {
  readonly wallets: ReadonlyMap<Mode, Wallet>;
  /** Null if the signer has no payout rules. */
  readonly outgoing: Outgoing | null;
  /** Null if the signer has no directory for its anchors, or no keys. */
  readonly audit: AuditSigner | null;
}

export interface Method<Params, Result> {
  readonly params: z.ZodType<Params>;
  run(params: Params, context: SignerContext): Result | Promise<Result>;
}

/** Ties a method's parameter type to its schema. */
export const method = <Params, Result>(definition: Method<Params, Result>): Method<unknown, Result> => definition;

export function walletOf({ wallets }: SignerContext, mode: Mode): Wallet {
  const wallet = wallets.get(mode);
  if (!wallet) throw new MethodRefused('no_wallet', `the signer holds no ${mode} keys`);
  return wallet;
}
