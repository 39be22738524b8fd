import type { ExtendedPublicKey } from './extended-public-key.ts';

/** What the worker thread is asked for: `count` addresses of the children from `fromIndex` on. */
export interface DerivationJob {
  readonly id: number;
  readonly key: ExtendedPublicKey;
  readonly format: 'evm' | 'tron';
  readonly fromIndex: number;
  readonly count: number;
}

export interface DerivationAnswer {
  readonly id: number;
  readonly addresses: string[];
}
