import type { SealedTransaction } from './journal.ts';

export interface FacadeBlock {
  readonly number: number;
  readonly id: string;
  readonly parentId: string;
  readonly timeMs: number;
  readonly transactions: readonly SealedTransaction[];
}
