import { acknowledgeSender } from '../../../../../money.ts';
import type { Answer, Asked } from '../../../../../route-types.ts';

/** A person asked the payer, who can receive refunds at the address that paid. */
async function acknowledge({ scope, params }: Asked, answer: Answer): Promise<void> {
  await acknowledgeSender(scope, params.id);
  answer.json({ acknowledged: true });
}

export { acknowledge as POST };
