/** Viewers read; operators decide, too. */
export const OPERATOR_ROLES = ['viewer', 'operator'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

export interface Operator {
  readonly id: string;
  /** Stands as the actor on every event that follows from a request. */
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdAtSec: number;
}

/** Who may use the operator's HTTP API. Tokens are kept as hashes alone. */
export interface Operators {
  list(): readonly Operator[];
  /** Adds an operator and answers the token, which is never told again. */
  create(name: string, role: OperatorRole, nowSec: number): { readonly operator: Operator; readonly token: string };
  /** False when there is none of that id. */
  revoke(id: string): boolean;
  find(token: string): Operator | null;
}
