import type { Mode } from '../domain/ids.ts';

/*
 * What the main process and the signer say to each other: first one line through the inherited standard input, then JSON
 * lines over a Unix socket.
 */

/** Where a mode's keys come from. Secrets travel through the inherited pipe only, never by argv or environment. */
export type WalletSource =
  | { readonly kind: 'mnemonic'; readonly mnemonic: string }
  | { readonly kind: 'keystore'; readonly file: string; readonly passphrase: string }
  /** Made by the signer itself at the first start, random per directory, encrypted. For the sandbox only. */
  | { readonly kind: 'sandbox'; readonly directory: string };

/** The first and only line on the signer's standard input, which stays open: its end is the signer's end. */
export interface SignerBootstrap {
  readonly socketPath: string;
  /** 32 random bytes in hex; valid for one connection. */
  readonly token: string;
  readonly wallets: { readonly [mode in Mode]?: WalletSource };
}

/** The signer's one line on standard output. */
export type SignerStarted = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** The first line on the socket; everything before it, and every other token, ends the connection. */
export interface SignerGreeting {
  readonly token: string;
}

export interface SignerRequest {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

export type SignerErrorCode = 'unknown_method' | 'invalid_params' | 'no_wallet' | 'internal';

export type SignerAnswer =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | { readonly id: number; readonly ok: false; readonly error: { readonly code: SignerErrorCode; readonly message: string } };

/** Most Solana keys of one request: an answer stays far below the longest line. */
export const MAX_SOLANA_KEYS_PER_REQUEST = 10_000;
