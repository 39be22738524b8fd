import { unfixed, type Unfixed } from '../unfixed-fault.ts';

const SCHEDULING = 'src/features/webhooks/scheduling.ts';

/** What merchants are told. */
export const NOTIFICATIONS_FAULTS: readonly Unfixed[] = [
  unfixed(
    'first attempts of a session overtake each other',
    '--focus unheard --focus refund --network bsc --profile embedded',
    SCHEDULING,
    'for (const one of ofSession) await this.retell(one);',
    'await Promise.all(ofSession.toReversed().map((one) => this.retell(one)));',
  ),
  unfixed(
    'the checkpoint of deliveries passes what is not in the log',
    '--focus cutoff --focus refund --network bsc --profile shared',
    SCHEDULING,
    'const batch = this.#settlements.begin(position, notifications.length);',
    'const batch = this.#settlements.begin(position, 0);',
  ),
  unfixed(
    'what a receiver refused counts as taken',
    '--focus receiver --network bsc --profile embedded',
    'state-machines/webhook-delivery/delivery.decider.ts',
    "if (verdict.course === 'delivered') return accept<DeliveryEvent>(attempted, {",
    "if (verdict.course !== 'block') return accept<DeliveryEvent>(attempted, {",
  ),
  unfixed(
    'deliveries of an earlier run are not taken up',
    '--focus kill --focus receiver --network bsc --profile embedded',
    'src/features/webhooks/dispatcher.ts',
    'loading: false });\n      await this.#load(queue);',
    'loading: false });',
  ),
  unfixed(
    'notices of a session overtake each other',
    '--focus receiver --network bsc --profile embedded',
    'src/features/webhooks/merchant-queues.ts',
    'if (behind) {\n        behind.push(job);\n        return;\n      }',
    '',
  ),
];
