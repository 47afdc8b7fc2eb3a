"""Words that say how a question is built, not what it is about, by language.

They are dropped from questions only. Passages keep them, so a question that has nothing else
("to be or not to be") still finds its passage.
"""

_WORDS = {
    "english": """
        a an the this that these those such some any each every both either neither all i me my
        mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
        she her hers herself it its itself they them their theirs themselves one who whom whose
        which what when where why how there here am is are was were be been being do does did
        doing done have has had having can could may might must shall should will would ought need
        cannot don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn
        and or but nor so yet if then than because as while although though unless whether of at
        by for with about against between among into onto through during before after above below
        to from up down in out on off over under upon within without toward towards via per again
        further once only just also too very more most other another same own no not now still
        even ever get gets got let lets please tell much many few
    """,
    "german": """
        der die das den dem des ein eine einen einem einer eines dieser diese dieses diesen diesem
        jener jene jenes jenen jenem jeder jede jedes jeden jedem alle allen aller alles kein
        keine keinen keinem keiner keines ich mich mir mein meine du dich dir dein deine er ihn
        ihm sein seine seinen seinem seiner seines sie ihr ihre ihren ihrem ihrer ihres es wir uns
        unser unsere euch euer man sich selbst wer wen wem wessen was welche welcher welches
        welchen welchem wann wo wohin woher warum wieso weshalb wie wieviel womit wodurch wofür
        worin bin bist ist sind seid war waren wurde wurden wird werden worden geworden sei wäre
        haben habe hat hatte hatten kann können konnte konnten muss müssen musste darf dürfen soll
        sollen sollte will wollen wollte mag möchte würde würden gibt gab und oder aber sondern
        denn doch dass daß ob wenn als weil während obwohl damit sowie in im ins an am ans auf aus
        bei beim bis durch für gegen mit nach ohne seit über um unter von vom vor wegen zu zum zur
        zwischen nicht auch nur noch schon sehr mehr so dann da dort hier nun ja nein bitte etwa
        etwas
    """,
    "french": """
        le la les un une des du de au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre
        nos votre vos leur leurs je me moi tu te toi il elle on nous vous ils elles lui eux se soi
        y en qui que quoi dont où quand comment pourquoi combien quel quelle quels quelles lequel
        laquelle lesquels lesquelles est sont suis es êtes sommes était étaient être été fut ai as
        a avons avez ont avait avaient avoir eu peut peuvent pouvait doit doivent fait faire et ou
        mais donc or ni car si comme lorsque puisque parce afin ainsi alors à dans par pour sur
        sous avec sans entre vers chez depuis pendant avant après contre dès ne pas plus moins
        très aussi même tout toute tous toutes autre autres aucun aucune chaque ici là cela ça
        ceci c d j l m n s t qu
    """,
    "spanish": """
        el la los las lo un una unos unas al del este esta estos estas ese esa esos esas aquel
        aquella aquellos aquellas mi mis tu tus su sus nuestro nuestra nuestros nuestras yo me tú
        te él ella ello nos vosotros os ellos ellas le les se usted ustedes que qué quien quién
        quienes quiénes cual cuál cuales cuáles cuyo cuya cuando cuándo donde dónde como cómo
        cuanto cuánto cuánta cuántos cuántas porque por qué es son soy eres somos era eran fue
        fueron ser sido está están estaba estaban estar ha han he hay había habían haber puede
        pueden podía debe deben tiene tienen tenía hace hacer y e o u pero sino ni si aunque
        mientras pues a ante bajo con contra de desde durante en entre hacia hasta para según sin
        sobre tras no sí muy más menos también tan tanto ya aún todo toda todos todas otro otra
        otros otras cada algún alguna algo aquí allí así
    """,
    "italian": """
        il lo la i gli le un uno una del dello della dei degli delle al allo alla ai agli alle dal
        dallo dalla dai dagli dalle nel nello nella nei negli nelle sul sullo sulla sui sugli
        sulle questo questa questi queste quello quella quelli quelle mio mia miei mie tuo tua suo
        sua suoi sue nostro nostra nostri nostre vostro vostra loro io mi me tu ti te lui lei noi
        ci voi vi essi esse si sé ne che chi cui quale quali quando dove come perché quanto quanta
        quanti quante cosa è sono sei siamo siete era erano fu furono essere stato stata stati
        state ha hanno ho hai abbiamo aveva avevano avere può possono poteva deve devono fa fare
        viene e ed o ma però anche se mentre poiché affinché quindi dunque a ad con da di in per
        su tra fra sotto sopra senza verso dopo prima durante contro non più meno molto così già
        ancora solo ogni tutto tutta tutti tutte altro altra altri altre
    """,
    "portuguese": """
        o a os as um uma uns umas do da dos das no na nos nas ao à aos às pelo pela pelos pelas
        num numa este esta estes estas esse essa esses essas aquele aquela aqueles aquelas isto
        isso aquilo meu minha meus minhas teu tua seu sua seus suas nosso nossa nossos nossas eu
        me mim tu te você vocês ele ela eles elas nós lhe lhes se que quem qual quais cujo cuja
        quando onde como porquê porque quanto quanta quantos quantas é são sou somos era eram foi
        foram ser sido está estão estava estavam estar há tem têm tinha tinham ter pode podem
        podia deve devem faz fazer e ou mas nem se embora enquanto pois a ante até com contra de
        desde em entre para perante por sem sob sobre após durante não sim muito mais menos também
        tão já ainda todo toda todos todas outro outra outros outras cada algum alguma aqui ali
        assim
    """,
    "dutch": """
        de het een deze dit die dat dergelijke elke elk alle al ik me mij mijn je jij jou jouw u
        uw hij hem zijn haar zij ze wij we ons onze jullie hen hun zich zelf men wie wiens wat
        welke welk wanneer waar waarom waarvoor waarmee hoe hoeveel ben bent is was waren wordt
        worden werd werden geworden geweest heb hebt heeft hebben had hadden kan kunnen kon konden
        mag mogen moet moeten moest zal zullen zou zouden wil willen doet doen deed en of maar
        want dus noch als indien omdat doordat hoewel terwijl zodat toen dan aan achter bij binnen
        boven buiten door in met na naar naast om onder op over per sinds te ten ter tegen tijdens
        tot tussen uit van vanaf via voor zonder niet geen ook nog maar zeer meer er hier daar zo
        nu wel
    """,
    "swedish": """
        en ett den det de denna detta dessa någon något några ingen inget inga varje all allt alla
        jag mig min mitt mina du dig din ditt dina han honom hans hon henne hennes vi oss vår vårt
        våra ni er ert era dem deras man sig sin sitt sina själv vem vems vad vilken vilket vilka
        när var vart varför hur är var vara varit blir bli blev blivit har hade ha haft kan kunde
        kunna ska skall skulle måste får fick vill ville gör göra gjorde och eller men utan att om
        som medan eftersom därför så än då av på i för med till från hos in under över ur vid
        efter före mellan mot genom bland inte ej också bara mycket mer här där nu
    """,
    "danish": """
        en et den det de denne dette disse nogen noget nogle ingen intet hver hvert al alt alle
        jeg mig min mit mine du dig din dit dine han ham hans hun hende hendes vi os vores i jer
        jeres dem deres man sig sin sit sine selv hvem hvis hvad hvilken hvilket hvilke hvornår
        hvor hvorfor hvordan er var være været bliver blive blev har havde have haft kan kunne
        skal skulle må måtte vil ville gør gøre gjorde og eller men at om som mens fordi derfor så
        end da når af på for med til fra hos ind under over ud ved efter før mellem mod gennem
        blandt ikke også kun meget mere her der nu
    """,
    "norwegian": """
        en ei et den det de denne dette disse noen noe ingen intet hver hvert all alt alle jeg meg
        min mitt mine du deg din ditt dine han ham hans hun henne hennes vi oss vår vårt våre dere
        deres dem man seg sin sitt sine selv hvem hva hvilken hvilket hvilke når hvor hvorfor
        hvordan er var være vært blir bli ble blitt har hadde ha hatt kan kunne skal skulle må
        måtte vil ville gjør gjøre gjorde og eller men at om som mens fordi derfor så enn da av på
        i for med til fra hos inn under over ut ved etter før mellom mot gjennom blant ikke også
        bare mye mer her der nå
    """,
    "russian": """
        я меня мне мной ты тебя тебе он его ему им она её ее ей оно мы нас нам вы вас вам они их
        себя свой своя своё свои мой моя моё мои твой ваш наш этот эта это эти того той тот та то
        те тех этого этой этих кто кого кому чем что чего чему какой какая какое какие каких
        который которая которое которые которых когда где куда откуда почему зачем как сколько чей
        быть был была было были есть будет будут является являются может могут можно нужно надо и
        или но а же ли бы если чтобы потому хотя пока в во на по с со к ко у о об от до из за для
        при про через над под без между после перед не ни нет да так также тоже только уже ещё еще
        все всё весь там тут здесь очень более
    """,
}

STOPWORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
