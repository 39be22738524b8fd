import { allToReturn } from '../../../money.ts';
import type { Answer, Asked } from '../../../route-types.ts';

/** Money that pays no order. */
async function list({ scope }: Asked, answer: Answer): Promise<void> {
  answer.json({ places: await allToReturn(scope) });
}

export { list as GET };
