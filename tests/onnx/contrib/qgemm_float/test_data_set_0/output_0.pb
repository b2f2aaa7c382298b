Bo0J<x«¯AÙ!Bb´¿ëäÆ@
´ÚAÃ¹Â“ÝÁLYÀmÄ!Bzø:Âc{)BwÐÏALY¸@¼yÂÇñFB