import { z } from 'zod';
import { refund } from './refund.schema.ts';
import { paymentSession } from './session.schema.ts';
import { timelineOf } from './timeline.schema.ts';
import { webhookEvent } from './event-bodies.schema.ts';
import { oneOf } from '../../domain/values/one-of.ts';

/** Maximum number of events per session; the newest are included. */
export const MAX_EXPANDED_EVENTS = 100;

/** Related records in a response that would otherwise need another request. */
function expandOf<const Part extends string>(...parts: readonly Part[]) {
  const rule = `must be ${parts.length === 1 ? parts[0] : `any of ${parts.join(', ')}, separated by commas`}`;
  const isKnown = (text: string): boolean => {
    const named = text.split(',');
    return new Set(named).size === named.length && named.every(oneOf(parts));
  };
  return z
    .string()
    .refine(isKnown, rule)
    .optional()
    .meta({
      override: { type: 'array', items: { type: 'string', enum: [...parts] } },
      param: { style: 'form', explode: false },
      description: `What to include, separated by commas: ${parts.map((part) => `\`${part}\``).join(', ')}.`,
    });
}

export const getSessionQuery = z.strictObject({ expand: expandOf('refunds', 'events', 'timeline') });
export const getRefundQuery = z.strictObject({ expand: expandOf('session') });
export const listSessionsExpand = expandOf('refunds');
export const listRefundsExpand = expandOf('session');

export const asked = (expand: string | undefined, part: string): boolean => expand?.split(',').includes(part) ?? false;

export const expandedSession = paymentSession
  .extend({
    refunds: z.array(refund).optional().meta({ description: 'With `expand=refunds`: all of them, oldest first.' }),
    events: z
      .array(webhookEvent)
      .optional()
      .meta({
        description: `With \`expand=events\`: what your default endpoint was, or would have been, sent, oldest first; the newest ${MAX_EXPANDED_EVENTS}.`,
      }),
    timeline: timelineOf.optional().meta({ description: 'With `expand=timeline`: every observation and decision.' }),
  })
  .meta({ id: 'ExpandedPaymentSession', description: 'A payment session with its expansions.' });

export const expandedRefund = refund
  .extend({
    session: paymentSession.optional().meta({ description: 'With `expand=session`: the session that is refunded.' }),
  })
  .meta({ id: 'ExpandedRefund', description: 'A refund with its expansions.' });
