import type { z } from 'zod';
import type { Mode } from '../domain/ids.ts';
import type { SignerErrorCode } from '../ports/signer-protocol.ts';
import type { AuditSigner } from './audit-signer.ts';
import type { Outgoing } from './outgoing.ts';
import type { Wallet } from './wallet.ts';

/** A request the signer will not serve: a value of the protocol, thrown only between here and `answerRequest`. */
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
  /** Null when the signer was given nothing to pay with. */
  readonly outgoing: Outgoing | null;
  /** Null when the signer was told no place for its anchors, or holds no keys. */
  readonly audit: AuditSigner | null;
}

export interface Method<Params, Result> {
  readonly params: z.ZodType<Params>;
  run(params: Params, context: SignerContext): Result | Promise<Result>;
}

/** Keeps the parameter type of each method together with its schema. */
export const method = <Params, Result>(definition: Method<Params, Result>): Method<unknown, Result> => definition;

export function walletOf({ wallets }: SignerContext, mode: Mode): Wallet {
  const wallet = wallets.get(mode);
  if (!wallet) throw new MethodRefused('no_wallet', `the signer holds no ${mode} keys`);
  return wallet;
}
