/** Viewers read; operators also decide. */
export const OPERATOR_ROLES = ['viewer', 'operator'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

export interface Operator {
  readonly id: string;
  /** The actor of every event that follows from a request. */
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdAtSec: number;
}

/** Users of the operator's HTTP API. Tokens are stored only as hashes. */
export interface Operators {
  list(): readonly Operator[];
  /** Adds an operator and returns the token, which is never available again. */
  create(name: string, role: OperatorRole, nowSec: number): { readonly operator: Operator; readonly token: string };
  /** False if there is none with that id. */
  revoke(id: string): boolean;
  find(token: string): Operator | null;
}
