/** Situations that a run can meet; those that never occurred are named, too. */
const EXPECTED = [
  ...[
    'order',
    'pay',
    'cancel',
    'refund',
    'reorg',
    'pool',
    'provider',
    'receiver',
    'halt',
    'fees',
    'frozen',
    'paused',
    'kill',
    'clock',
    'store',
    'leases',
  ].map((kind) => `plan ${kind}`),
  ...['open', 'paid', 'expired', 'failed', 'cancelled'].flatMap((state) => [
    ...[
      'DepositDetected',
      'DepositConfirmed',
      'DepositReverted',
      'RefundRequested',
      'RefundPayoutSigned',
      'RefundPayoutLanded',
      'RefundCompleted',
    ].map((type) => `event ${type} when ${state}`),
  ]),
  ...['open', 'expired', 'failed'].map((state) => `event SessionPaid when ${state}`),
  ...['SessionExpired', 'SessionFailed', 'SessionCancelled'].map((type) => `event ${type} when open`),
  ...['RefundPayoutReplaced', 'RefundPayoutReverted', 'RefundPayoutFailed', 'RefundFailed'].map(
    (type) => `event ${type} when paid`,
  ),
  ...[
    'SweepRequested',
    'SweepSigned',
    'SweepCompleted',
    'SweepFailed',
    'GasTopUpSigned',
    'NonceAccountCompleted',
    'PayoutSequenceReserved',
    'TreasuryFunded',
    'TreasuryReconciled',
  ].map((type) => `event ${type}`),
  ...[
    'DeliveryScheduled',
    'DeliveryAttempted',
    'DeliverySucceeded',
    'DeliveryExhausted',
    'DeliveryRejected',
    'WebhookEndpointSuspended',
  ].map((type) => `event ${type}`),
  ...['session_already_paid', 'session_expired'].map((code) => `refusal cancel ${code}`),
  ...['refund_exceeds_paid', 'session_not_paid'].map((code) => `refusal refund ${code}`),
];

/** How often each situation occurred, and which never did. */
export function coverageReport(counts: ReadonlyMap<string, number>): string {
  const seen = [...counts]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([situation, times]) => `${String(times).padStart(8)}  ${situation}`);
  const never = EXPECTED.filter((situation) => !counts.has(situation));
  return [
    `situations met:`,
    ...seen,
    `never met: ${never.length === 0 ? 'none' : ''}`,
    ...never.map((situation) => `          ${situation}`),
  ].join('\n');
}
