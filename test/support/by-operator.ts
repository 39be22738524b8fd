import type { ChangedBy } from '../../src/features/merchants/merchants-deps.ts';

export const BY: ChangedBy = { actor: 'operator', correlationId: 'test' };
