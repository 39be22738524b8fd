import type { ExtendedPublicKey } from './extended-public-key.ts';

/** A request to the worker thread: `count` addresses of the children from `fromIndex` on. */
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
