/** Told to those who ask for them: what happens to a session beside its outcome. */
export const OPTIONAL_TYPES = [
  'payment.processing',
  'payment.partially_paid',
  'payment.overpaid',
  'payment.late',
  'payment.wrong_coin',
  'payment.reversed',
  'payment.restored',
  'refund.created',
] as const;

export type OptionalType = (typeof OPTIONAL_TYPES)[number];

export const isOptionalType = (text: string): text is OptionalType => (OPTIONAL_TYPES as readonly string[]).includes(text);
