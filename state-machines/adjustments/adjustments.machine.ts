import { assign, setup } from 'xstate';
import type { AdjustmentEvent, AdjustmentTerms } from '../../src/domain/events/adjustment-events.ts';
import { dataOf, typesOf } from '../wired.ts';
import { must } from '../../src/domain/values/must.ts';

/* Manual entries of one mode. */

export type AdjustmentsValue = 'open';

export interface Adjustment {
  readonly terms: AdjustmentTerms;
  readonly status: 'proposed' | 'posted';
  /** The adjustment that reversed it. */
  readonly reversedBy: string | null;
}

export interface AdjustmentsContext {
  /** Proposed or posted, by id, oldest first. Rejected ones are dropped. */
  readonly adjustments: Readonly<Record<string, Adjustment>>;
}

type Seen = { context: AdjustmentsContext; event: AdjustmentEvent };

/** Whether the adjustment to reverse exists and can be reversed. */
export function mayReverse({ adjustments }: AdjustmentsContext, reverses: string | null): boolean {
  if (reverses === null) return true;
  const original = adjustments[reverses];
  return original?.status === 'posted' && original.reversedBy === null;
}

export const adjustmentsMachine = setup({
  types: typesOf<AdjustmentsContext, AdjustmentEvent>(),
  guards: {
    isNew: ({ context, event }: Seen) => !Object.hasOwn(context.adjustments, event.data.adjustmentId),
    isProposed: ({ context, event }: Seen) => context.adjustments[event.data.adjustmentId]?.status === 'proposed',
    mayBePosted: ({ context, event }: Seen) => {
      const known = context.adjustments[event.data.adjustmentId];
      return known?.status === 'proposed' && mayReverse(context, known.terms.reverses);
    },
  },
  actions: {
    foldProposed: assign(({ context, event }) => {
      const { proposedAtSec: _at, ...terms } = dataOf(event, 'AdjustmentProposed');
      return {
        adjustments: {
          ...context.adjustments,
          [terms.adjustmentId]: { terms, status: 'proposed' as const, reversedBy: null },
        },
      };
    }),
    foldPosted: assign(({ context, event }) => {
      const { adjustmentId, reverses } = dataOf(event, 'AdjustmentPosted');
      const { adjustments } = context;
      const posted = {
        ...adjustments,
        [adjustmentId]: { ...must(adjustments[adjustmentId]), status: 'posted' as const },
      };
      return {
        adjustments:
          reverses === null
            ? posted
            : { ...posted, [reverses]: { ...must(posted[reverses]), reversedBy: adjustmentId } },
      };
    }),
    foldRejected: assign(({ context, event }) => ({
      adjustments: Object.fromEntries(
        Object.entries(context.adjustments).filter(([id]) => id !== event.data.adjustmentId),
      ),
    })),
  },
}).createMachine({
  id: 'adjustments',
  initial: 'open',
  context: { adjustments: {} },
  states: {
    open: {
      on: {
        AdjustmentProposed: { guard: 'isNew', actions: 'foldProposed' },
        AdjustmentPosted: { guard: 'mayBePosted', actions: 'foldPosted' },
        AdjustmentRejected: { guard: 'isProposed', actions: 'foldRejected' },
      },
    },
  },
});
